package main

// affineMachine is what only the kernels of affine maps need.
type affineMachine interface {
	BroadcastAt(t T, p, i R, scale int) V // Broadcast from p + i*scale, where scale is 1, 2, 4 or 8
}
