package main

// sorter has the loads and stores that a Machine needs to sort rows, one in each lane.
type sorter interface {
	LoadAt(p, i R, scale int) V // from p + i*scale, where scale is 1, 2, 4 or 8
	StoreAt(p, i R, scale int, v V)
	LoadGroupAt(v V, g int, p, i R, scale int) V // LoadGroup from p + i*scale
	StoreGroup(p R, off int, v V, g int)         // the g-th 16 bytes of v
}
