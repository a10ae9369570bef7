// Package kernel computes on rows of scores. It knows shapes and types, and no metric.
//
//   - Row statistics, everything that metrics ask of a row in one visit: LogitStatsF32, ProbStatsF32, BinaryLogitStatsF32,
//     BinaryProbStatsF32; NormalF32 of normal forecasts, SampleSpreadF32 of samples.
//   - Rows to rows: SoftmaxF32, LogitSoftmaxF32 (with the statistics), LogSoftmaxF32, LogSumExpF32, ArgMaxF32, WidenF16.
//   - Columns: Hits and SquaredErrors make new ones; Moments, CellSum, Counts, BinSums, FixedSums, GridSums, UnitMoments and
//     CountUpTo sum them. BinEqual and BinEdges assign bins.
//   - Whole matrices by class and bin: ClassSumsF32, ClassEntriesF32.
//   - Members of an ensemble: MeanF32, LogMeanExpF64, LogitTermsF32, MeanScaledF32, PairKLF32, PairSumsF32.
//   - Order: KeysF32, HitKeysF32, ColumnKeysF32; Sort, SortFrom, Split, Splitters, Select, OrderF32, SortRowsF32; HitBlocksF32
//     sums over sorted keys.
//   - Fits: TemperedF32, ScaledSoftmaxF32, WidenLogF32, AffineF64, ScaleShiftF64, SoftmaxResidualsF64, AddOuterF64, AddRowsF64,
//     AddProductsF64.
//   - Functions with the same bits everywhere: Exp64, Log64, Log1p64, NormCDF64, NormQuantile64; ExpSliceF32, LogSliceF32, ExpSliceF64, LogSliceF64 of slices.
//
// A name ends in the type of the scores: F64, F32, F16 (IEEE binary16) or BF16 (bfloat16), the last two as uint16. Half precision
// is widened to float32, which is exact, and results have the bits that the widened matrix gives. Labels are int32.
//
// # Shapes
//
// A matrix is row-major: row i is x[i*stride : i*stride+k], with k >= 1, stride >= k and any number of rows, 0 too. What lies
// between rows is neither read nor written. Columns and labels have at least as many elements as there are rows; the rest stays
// as it is. A wrong shape is a bug of the caller. It panics with a constant text that begins with "kernel: ", before anything is
// written. Values never panic.
//
// Slices may start at any alignment. Outputs must not overlap inputs, with these exceptions: dst may be x itself in ExpSliceF32,
// LogSliceF32, ExpSliceF64, LogSliceF64, ScaleShiftF64 and, with equal strides, in Softmax, LogSoftmax and ScaledSoftmax of float32 and float64;
// what sorts, splits or selects works in place. A scratch slice may hold anything, overlaps nothing else, and means nothing
// afterwards.
//
// Nothing allocates but Edges, and nothing starts a goroutine. Calls with disjoint outputs and scratch may run at the same time.
//
// # Faults of a row
//
// Row statistics never stop at a bad row. Flags has a byte for each row, and the union of all is returned:
//
//	FlagNotFinite  NaN or +Inf; logits that are all -Inf; a probability of -Inf   no columns
//	FlagBadLabel   label < 0 or >= k                                              no columns
//	FlagOutside    a probability below 0 or above 1                               columns as the formulas give them
//
// A row without columns has the canonical NaN, 0x7FF8000000000000, in every float64 column and -1 in ArgMax and Rank. -Inf is a
// legal logit: a class of probability 0, whose NLL is +Inf if it is the true one. The one logit of a binary row may be -Inf too.
// Softmax, LogSoftmax and LogSumExp give NaN for a row with a fault, and ArgMax gives -1 for a row with a NaN. -0 counts as 0, and
// no column is -0.
//
// # The same bits everywhere
//
// The Go code is level generic, and it defines every bit of every result but the bits of a NaN that is an element's own result.
// CPUs with AVX2 or AVX-512 (x86-64-v3, -v4) and all of arm64 (NEON) run assembly, at the highest level that the CPU has, and
// assembly returns the same bits. No result depends on the CPU, on alignment, stride, the other rows or their order.
// The environment variable CANDOR_ISA=generic|avx2|avx512|neon caps the level; the build tag noasm leaves the assembly out.
//
// The garbage collector waits for a call that runs assembly. Pass at most 1 MiB of input, or one row if that is longer. A call
// needs up to 43 KB of stack.
//
// docs/kernels.md has the order of operations, the accuracy of each function, the whole numbers that states are made of, and how
// the larger kernels work.
package kernel
