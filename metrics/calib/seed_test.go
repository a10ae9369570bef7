package calib_test

import "github.com/candor-go/candor/internal/check"

func init() { check.FixSeed() }
