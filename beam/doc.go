// Package candorbeam evaluates predictions on Apache Beam. Its results are states: the bytes that candor eval --state writes for the same
// rows, however Beam divides them and however often it repeats a bundle.
//
// Start with [Shards], which reads files: each worker reduces its files to a state of some kilobytes, and only states travel. [Rows] takes
// rows as elements, for streams and for rows that no file holds; an element costs some microseconds, nearly all of them Beam's.
//
// Both are CombineFns in the end, [ShardsFn] and [RowsFn], for use with beam.CombinePerKey, which gives a state for each key.
//
//	p, s := beam.NewPipelineWithRoot()
//	files := beam.CreateList(s, []candorbeam.Shard{{Path: "part-0.parquet"}, {Path: "part-1.parquet"}})
//	state := candorbeam.Shards(s, candorbeam.Options{Columns: roles.Want{Prefix: new("p_"), Label: "y"}}, files)
//
// candor merge prints a state that was written to a file. [Open] is for programs.
package candorbeam
