package conformal

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// errCoverage is the error for a coverage that cannot be promised.
var errCoverage = errors.New("a coverage lies between 0 and 1")

// Rank returns the rank, from 1, of the threshold among n scores in rising order: ceil((n+1) coverage). If it is n+1, there are too few rows
// for this coverage, and every set holds everything. The product is exact: coverage counts as the shortest decimal number that reads as it,
// so that 0.9 is 9/10. It panics unless n >= 0 and 0 < coverage < 1.
func Rank(n int64, coverage float64) int64 {
	if !(coverage > 0 && coverage < 1) || n < 0 {
		panic("conformal: rows are 0 or more, and a coverage lies between 0 and 1")
	}
	c, _ := new(big.Rat).SetString(strconv.FormatFloat(coverage, 'g', -1, 64))
	c.Mul(c, new(big.Rat).SetInt64(n+1))
	// Rounded up: -floor(-x), since Div rounds down for a positive divisor.
	k := new(big.Int).Neg(c.Num())
	return -k.Div(k, c.Denom()).Int64()
}

// Least returns the least number of rows with which this coverage can be promised by sets that leave something out.
func Least(coverage float64) int64 {
	n := int64(1)
	for Rank(n, coverage) > n {
		n *= 2
	}
	low := n / 2 // too few
	for n-low > 1 {
		if mid := (n + low) / 2; Rank(mid, coverage) > mid {
			low = mid
		} else {
			n = mid
		}
	}
	return n
}

// tooFew returns the sentence about a number of rows from which the coverage cannot be promised.
func tooFew(rows int64, coverage float64) string {
	return fmt.Sprintf("%d rows are too few for a coverage of %v, which takes %d: every set holds everything", rows, coverage, Least(coverage))
}
