package kernel

// The generator is a module of its own: nobody who uses the kernels fetches what writes them.
//go:generate go -C asm/_gen run .
