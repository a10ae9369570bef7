// Package kernel computes statistics, transforms and sums of rows of scores, with the same bits on every CPU. It knows shapes and
// types, but no metric.
//
// Start with LogitStatsF32 or ProbStatsF32: one call computes everything that metrics need of a row. The other kernels:
//
//   - Row statistics: BinaryLogitStatsF32, BinaryProbStatsF32, NormalF32, SampleSpreadF32.
//   - Rows to rows: SoftmaxF32, LogitSoftmaxF32, LogSoftmaxF32, LogSumExpF32, ArgMaxF32, WidenF16.
//   - Columns and bins: Moments, CellSum, Hits, SquaredErrors, Counts, BinEqual, BinEdges, BinSums, GridSums, ClassSumsF32.
//   - Ensembles: MeanF32, LogMeanExpF64, PairKLF32, PairSumsF32.
//   - Order: KeysF32, Sort, Split, Select, OrderF32, SortRowsF32, HitBlocksF32.
//   - Recalibration: TemperedF32, ScaledSoftmaxF32, AffineF64, SoftmaxResidualsF64.
//   - Functions: Exp64, Log64, Log1p64, NormCDF64, NormQuantile64; ExpSliceF32 and LogSliceF32 take slices.
//
// A name ends in the type of the scores: F64, F32, F16 (IEEE binary16) or BF16 (bfloat16). Half precision is passed as uint16.
// Labels are int32, and logarithms are natural.
//
// A matrix is row-major: row i is x[i*stride : i*stride+k]. A wrong shape is a bug in the caller and panics. A bad value never
// panics: Flags marks the row as FlagNotFinite, FlagBadLabel or FlagOutside.
//
// Only Edges allocates, and no kernel starts a goroutine. Pass at most 1 MiB of input per call, or one row if that is longer,
// because the garbage collector waits for assembly to return.
//
// AVX2, AVX-512 and NEON run assembly with the bits of the Go code. The environment variable
// CANDOR_ISA=generic|avx2|avx512|neon caps the level, and the build tag noasm leaves the assembly out.
//
// docs/kernels.md has the rules for shapes, overlap and faults, the order of operations, and the accuracy of each function.
package kernel
