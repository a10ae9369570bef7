package order_test

import (
	"fmt"

	"github.com/candor-go/candor/kernel"
	"github.com/candor-go/candor/metrics/internal/order"
	"github.com/candor-go/candor/metrics/internal/pool"
)

// The bins of many sets of scores, here one of each class, by goroutines that use their memory again.
func ExampleBinner() {
	classes := [][]float64{{0.25, 0.5, 0.75, 1}, {0.125, 0.5, 0.5, 0.875}}
	hits := [][]uint8{{0, 1, 1, 1}, {0, 0, 1, 1}}
	ece := make([]float64, len(classes))
	pool.Each(0, len(classes), func() func(int) {
		var binner order.Binner[uint64]
		var b order.Bins
		return func(class int) {
			keys := make([]uint64, len(classes[class]))
			kernel.HitKeysF64(keys, classes[class], hits[class])
			binner.EqualMass(&b, keys, 2)
			ece[class] = b.ECE()
		}
	})
	fmt.Println(ece)
	// Output: [0.125 0.0625]
}
