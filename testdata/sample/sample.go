// Package sample holds the predictions that the command evaluates when it is given none. README.md says how they were
// made.
package sample

import "embed"

// Files has digits_logits.npy (1797 x 10, float32) and digits_labels.npy.
//
//go:embed digits_logits.npy digits_labels.npy
var Files embed.FS
