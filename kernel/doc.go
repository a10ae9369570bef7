// Package kernel computes on rows of scores: probabilities and everything that metrics ask of a row in one visit
// (LogitStatsF32 and its like), what is made of such columns (Hits, SquaredErrors) and summed over them (Moments, CellSum,
// BinSums, GridSums, Counts, UnitMoments, CountUpTo), softmax, alone and with the statistics of its logits, log-sum-exp, arg max, bins, the sums of a whole
// matrix by class and bin (ClassSumsF32), what the members of an ensemble make of the same rows (MeanF32, of logits LogitTermsF32
// and MeanScaledF32, LogMeanExp, PairKLF32, PairSumsF32), the order of scores (Sort, SortFrom, Split, Select, OrderF32, SortRowsF32),
// what a walk through sorted ones needs (HitBlocksF32), the distances in rows of samples (SampleSpreadF32), the errors of normal
// forecasts (NormalF32), affine maps of logits and the gradient by their parameters (AffineF64, ScaleShiftF64, SoftmaxResidualsF64,
// AddOuterF64, AddRowsF64, AddProductsF64), Exp64, Log64, Phi64 and PhiInv64.
// forecasts (NormalF32), what a fit of a temperature asks of rows (TemperedF32), softmax of scaled logits (ScaledSoftmaxF32),
// Exp64, Log64, Phi64 and PhiInv64.
// No metric knows its name here. What follows holds for every function; a function's own comment says what it adds.
//
// # Shapes and panics
//
// A matrix is row-major: row i is x[i*stride : i*stride+k], with k >= 1 and stride >= k; rows may be 0. What lies between
// the rows is neither read nor written. A column or label slice has at least as many elements as there are rows; of more,
// the rest is untouched. Wrong shapes are the caller's bug and panic, before anything is written, with one of
//
//	kernel: slices differ in length
//	kernel: rows, k and stride do not fit the slice
//	kernel: a column is shorter than the number of rows
//	kernel: labels are fewer than rows
//	kernel: edges are not two or more rising numbers
//	kernel: number of bins is not positive
//	kernel: more than MaxSum values in one call
//	kernel: one of two windows has a Fine, the other has not
//	kernel: the scratch is too short
//	kernel: keys to split at are not rising
//	kernel: ranks are not rising indices of the keys
//	kernel: more than 2^31-1 values to order
//	kernel: room for more than 63 keys to split at
//	kernel: class sums are fewer than classes
//	kernel: the list has no room for a row
//	kernel: number of grid cells is not GridSize
//	kernel: the blocks of sorted keys are not one for each 64 keys
//	kernel: number of members is not positive
//	kernel: a normal forecast has two or three numbers a row
//	kernel: edges to count up to are not rising
//	kernel: beta is not a positive number
//
// An index in bin beyond sums is an ordinary index panic. Values never panic. Nothing allocates but Edges, nothing starts
// a goroutine, nothing is kept between calls, except that the grid's places are made once; calls with disjoint outputs may run at the same time. Slices start at any
// alignment and have any length; nothing outside them is read or written. Inputs are not written, and outputs do not
// overlap inputs, except that dst may be x itself in ExpF32, LogF32, ExpF64, LogF64, ScaleShiftF64 and, with equal strides, in Softmax
// and LogSoftmax of float32 and float64; what sorts, splits or selects works in place. A scratch may hold anything, overlaps
// overlap inputs, except that dst may be x itself in ExpF32, LogF32, ExpF64, LogF64 and, with equal strides, in Softmax,
// LogSoftmax and ScaledSoftmax of float32 and float64; what sorts, splits or selects works in place. A scratch may hold anything, overlaps
// nothing else, and means nothing afterwards; a call at a time may use it.
//
// # Levels
//
// The Go code is level generic. CPUs of amd64 that have AVX2 or AVX-512 (x86-64-v3, -v4) and all of arm64 (NEON) run
// assembly instead, by the highest level that the CPU has. The environment variable CANDOR_ISA=generic|avx2|avx512|neon
// caps the level, and the build tag noasm leaves the assembly out.
//
// A call cannot be interrupted while it runs assembly, and the garbage collector waits for it: callers give it at most
// 1 MiB of input, or one row if that is longer. Its working memory is on the stack: some 20 KB where it takes rows by
// assembly, 43 KB in BinSums, 25 KB in AffineF64 and AddOuterF64, 20 KB in SoftmaxResidualsF64, 13 KB in ClassSums, 3 KB in
// GridSums.
//
// # Inputs
//
// float32, float64, and IEEE binary16 (F16) and bfloat16 (BF16) as uint16. Half precision is widened to float32, which is
// exact, and from then on is float32: results have the bits that the widened matrix gives. Labels are int32.
//
// # Faults of a row
//
// Row statistics never stop at a bad row. Flags has a byte for each row, and the union is returned:
//
//	FlagNotFinite  NaN or +Inf; logits that are all -Inf; a probability of -Inf   no columns
//	FlagBadLabel   label < 0 or >= k                                              no columns
//	FlagOutside    a probability below 0 or above 1                               columns as the formulas give them
//
// A row without columns has the canonical NaN, 0x7FF8000000000000, in every float64 column (Positive too, whatever k is)
// and -1 in ArgMax and Rank. FlagOutside is not given beside FlagNotFinite. -Inf is a legal logit: a class of probability
// 0, whose NLL is +Inf if it is the true one; only as the one score of a binary logit does it stand for the event's
// probability 0, with columns. Softmax, LogSoftmax and LogSumExp give NaN for a row with a fault, ArgMax gives -1 for one
// with NaN alone. -0 is 0: no column is -0. Where a NaN is an element's result (softmax, exp, log, what is mapped or summed for a
// gradient) its bits are not promised; in the columns they are.
//
// # Order of operations
//
// The Go code defines every bit of every result but a NaN's; assembly returns those bits. So no result depends on the CPU,
// on alignment, stride, the other rows, or the rows' order. A product that meets an addition is rounded first, unless
// the code says fused: math.FMA for float64, fma32 for float32, one rounding each.
//
//   - A row of at most 32 is one chain in index order. The largest element, the first of equals, is left out; logits enter
//     as differences to it, so its term is 1.
//   - A longer row is taken in blocks of 1,024 from its start. In a block element j belongs to lane j mod 16 of float32, or
//     mod 8 of float64, each lane a chain; at the block's end lane l is added to float64 lane l, and after the last block
//     these are folded: l and l+8 (where there are 16), l and l+4, l and l+2, l and l+1.
//   - The reference of a long row of logits is the ceiling of m*log2(e), an integer, where m is the largest logit so far.
//     A term is 2**(x*log2(e) - reference): t = fma(x, log2(e), 1.5*2**23 - reference) is rounded to an integer by its
//     magnitude, a polynomial takes what is left, f, and the integer joins the exponent's bits. The exponent that the
//     entropy takes is the sum of these two, f - (1.5*2**23 - t), rounded once. For float64 the constant is 1.5*2**52. When
//     a block raises the reference, what stands in the float64 lanes is scaled by a power of two, exactly.
//   - The first largest element so far is held out of the lanes. The term of one that a later block replaces joins side sums,
//     which are added after the fold. So the tail is a sum of its own and nothing has to cancel: Tail = s/(e+s) and
//     NLL = ln(1 + s/e) - (x_y - m), with e the top's term and s the sum of the others.
//   - Logits are clamped from below where their term would leave the normal numbers (2**-125 of the reference's for float32,
//     2**-1020 for float64), -Inf among them. A sum s below 2**-90 is taken as 0, which a row of clamped terms is below.
//   - A row whose m*log2(e) is beyond 2**21 (float32) or 2**50 (float64) in magnitude is one chain of float64 with Exp64 of
//     the differences.
//   - Sums over pairs of rows (PairKL, PairSums) take rows of every length in blocks and lanes, and hold out no element. A product
//     is fused into its lane; what joins nothing is left out.
//   - Over the members of an ensemble a sum is one chain in their order, of the type of the elements, and is divided by their
//     number.
//   - In an affine map and in what is added up by the Add functions each element is one chain, in the order of the numbers that come in
//     or of the rows. The terms of SoftmaxResidualsF64 have 8 lanes over the whole row, of whatever length, and are folded as above.
//   - Sums of squares start at 2**-120 (float32) or 2**-960, and those of p*ln(p) at -2**-100 or -2**-900, and lose that
//     again when folded: so no sum is a subnormal number.
//
// # Accuracy
//
// Tested against math/big and float64 to k = 262,144.
//
//	                        float32, F16, BF16                          float64
//	Norm of logits          1e-6 * max(1, |Norm|)                       1e-13 * max(1, |Norm|)
//	NLL of logits           1e-5 of it where it is above 1e-12          1e-12 of it where it is above 1e-25
//	other columns, logits   2e-6                                        1e-13
//	Entropy of logits       2e-6 * max(1, Entropy)                      1e-13 * max(1, Entropy)
//	Norm, Rest, Entropy     2e-6 * max(1, value)                        1e-13 * max(1, value)
//	  of probabilities
//	PairKL                  1e-6 of sum p*max(1, |ln p|, |ln q|)        1e-15 of it for k to 1,024
//	PairSums                2e-6 + 2**-110                              1e-13 + 2**-950
//	Mean                    6e-8 * members                              1.2e-16 * members
//	LogMeanExp                                                          1.2e-16 * (8 + members) * max(|top|, |value|)
//	the others              exact, or 1 ulp where a logarithm is taken  the same
//	softmax, for a logit    5e-7 + 8e-8*d of it, + 2**-149              1e-15 + 2e-16*d of it, + 2**-1074
//	  d below the largest
//	residuals and their NLL                                     1e-15 + 2e-16*d of it for k to 1,024
//	scaled softmax, for     7e-7 + 2e-7*d of it, + 2**-149              2e-15 + 4e-16*d of it, + 2**-1074
//	  beta*logit d below
//	a term of Tempered      7e-15 + 2e-16*|beta*d| of it                the same
//	Exp64, Log64; Log1p64   1 ulp; 1.5 ulp
//	Phi64, PhiInv64         1e-15 of it
//	NLL of normal rows      3e-7 * max(1, |ln SD|, Z^2/2)               6e-16 * max(1, |ln SD|, Z^2/2)
//	CRPS of normal rows     7e-7 of it                                  2e-15 of it
//	ExpF32, LogF32          1 ulp
//	SampleSpread of m       (m/2 + 3) * 2^-53 of it                     the same
//
// # Whole numbers
//
// Sums that a state keeps are integers, so their order does not matter. A value v in float64 is rounded once, to even, by
// adding a constant whose last place is the quantum; the sum's bits less the constant's are the integer.
//
//	WindowUnit      v in [-1, 1]            2**-51
//	WindowBrier     [-2, 2]                 2**-50
//	WindowBrier2    [-4, 4]                 2**-49
//	WindowEntropy   [-32, 32]               2**-46
//	WindowEntropy2  [-1024, 1024]           2**-41
//	WindowNLL       [-(2**11-1), 2**11-1]   2**-40, and the rest of it 2**-88
//	WindowNLL2      [-(2**22-1), 2**22-1]   2**-29, and the rest of it 2**-77
//
// ClassSums lists what is not in the lowest bin of its class, so its time does not depend on the number of bins; a list has no
// promised order. Its sums are those that BinSums makes, of the entries of all classes.
//
// MaxSum = 2,048 values at a window's end reach 2**62 units: one call of Moments, CellSum, BinSums or FixedSums takes no
// more, and callers add what it returns to 128 bits. What is outside a window is in no sum and is counted.
//
// UnitMoments takes values that carry a unit of the user's, for which no window is known: it has two windows of 51 bits by the largest
// of a call, one below the other, and sums nothing where some bit is below both.
//
// # Normal forecasts
//
// NormalF32 computes in lanes of float32 where a row's standard deviation is from 2^-100 to 2^100 and |Z| at most 2^20, also the
// difference in Error, and what it writes are float32 numbers. Another row costs some 100 ns: it is computed in float64. The CRPS over
// the standard deviation is an even function of Z, and up to |Z| = 4.6 a polynomial in its square, beyond that |Z| - 1/sqrt(pi): so it
// takes no exponential. NormalF64 has no assembly. CountUpTo compares values that all are float32 numbers as such, twice as many at a
// time.
//
// # Gradients
//
// AffineF64, SoftmaxResidualsF64, AddOuterF64 and AddRowsF64 are together the gradient of the NLL of softmax(W z + b), of rows that stay
// in the second cache: 256 of 100 logits, say. A block of the result stands in registers, 8 rows by 24 columns with AVX-512 and 6 by 8
// with AVX2, so that a multiply-add needs less than half a load. Some columns of the other matrix are packed for it: they are read again
// for each 8 rows. Where logits are scaled one by one, ScaleShiftF64 and AddProductsF64 stand for the two products.
// # Temperature
//
// TemperedF32 takes each row's largest element first, while the row comes into the cache, and then one exponential of an element, all in
// float64. A row of at most 32 is one chain in index order; in a longer one element j belongs to lane j mod 8, folded once at the end: l
// and l+4, l and l+2, l and l+1. A term is 2**(n/16) by a table of sixteen, times a polynomial of degree 5 in d*c - n, with
// c = 16*log2(e)*beta rounded once; the largest element's is 1, and what is below 2**-1000 is no term. The slope has no digits to lose
// where the label is the largest, as d is 0 then. beta is a number of the user's, so what is tiny or huge stays a number.
//
// ScaledSoftmaxF32 stores 2**(d*c), c = log2(e)*beta rounded to float32, adds it up as the other long rows are (float64 in eight lanes),
// and multiplies by 1 over the sum. A term below the largest is at most 1 less two units in its last place, which times any number
// lies below that: so the same elements are the largest before and after, whatever is rounded. A beta beyond 2**100 or
// below 2**-100 takes Exp64 for each float32.
//
// LogsF32 has the bits of Log64: where logits are the logarithms of probabilities.
//
// # Ensembles
//
// The same n values of several members stand stride elements apart: Mean and LogMeanExp make one of each. Logarithms cost more than
// all else that pairs of members need, so they are taken once a member (LogF32), and PairKL reads them. The sum of p*(ln p - ln q) is
// of the precision of the logarithms: where two rows are nearly equal, what is left of it is an error, which can be below 0. Means of
// a matrix are fastest in the second cache: 16 to 64 rows of all members at a time.
//
// # Order
//
// Sort, Split, Splitters, Select and OrderF32 work on keys: unsigned integers whose order is that of the scores. KeysF32 makes them of
// any float32 (-0 is 0; NaN stand at the ends, by sign), HitKeysF32 of a score in [0,1] and its outcome: the score's bits,
// shifted by one, and the outcome; ColumnKeysF32 those of the columns of a matrix, one column after another. Equal keys are
// the same bits, so what is sorted does not depend on how. Where the order of equal ones could be seen, in Split, it is that
// in which they came.
//
// HitBlocksF32 makes of each 64 sorted keys of scores and outcomes 32 bytes: the outcomes and the ends of equal scores as bits,
// and sums of p - hit and of its square as whole numbers. So what sums over scores, or over runs of equal ones, in rising order
// takes 64 keys at a time where it needs no more, and reads one of them where a bit says that something ends.
//
// SampleSpreadF32 sorts rows of samples in its scratch, a row a lane, and sums in float64 while they stand there as columns: the
// distances from an observation, and those of any two samples. It adds the differences of those that stand as far from either end,
// by whole weights, so nothing cancels, and a column is visited once. A row with a number that is not finite has NaN, without a flag.
//
// Keys are sorted by splitting: assembly sifts a register's keys to two ends (0.1 ns a key with AVX-512), up to 256 are
// sorted in registers, and where there are more than 2^18 they are first dealt out by 64 KiB at a time to up to 64 parts. A
// pivot is the median of a sample; after a bad split, the middle of what the keys may be, so no order makes the time grow
// faster than n log n. Without assembly keys are sorted by their bytes. All need a scratch of the caller's, as long as the
// keys or, for Sort, as SortScratch says. SortFrom makes the keys where they are dealt out, and tells when a part is in its
// place, so that neither what they are made of nor what is made of them costs a way to the memory and back.
package kernel
