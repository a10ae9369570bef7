package kernel

// The generator is a separate module, so users of the kernels do not download its dependencies.
//go:generate go -C asm/_gen run .
