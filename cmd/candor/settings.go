package main

import "github.com/candor-go/candor/internal/setting"

// flagsOf maps the settings in messages of the library to flags.
var flagsOf = map[setting.Setting]string{
	setting.Labels:           "--labels",
	setting.LabelsFile:       "--labels FILE",
	setting.Observations:     "--labels",
	setting.ObservedFiles:    "--labels",
	setting.Weights:          "--weights",
	setting.Decisions:        "--decisions",
	setting.ConfidenceScores: "--confidence-scores",
	setting.Groups:           "--group",
	setting.Mean:             "--mean",
	setting.SD:               "--std",
	setting.Observed:         "--observed",
	setting.Error:            "--error",
	setting.Weight:           "--weights",
	setting.Levels:           "--levels",
	setting.Prefix:           "--quantile-prefix",

	setting.ScoreColumns: "--prob",
	setting.LabelColumn:  "--labels",
	setting.ClassNames:   "--classes",
	setting.Correct:      "--correct",
	setting.Keys:         "--id",
	setting.LabelPrefix:  "--label-prefix",
	setting.Pivot:        "--pivot",
	setting.OOD:          "--ood",
	setting.Unmatched:    "--on-unmatched drop",
	setting.JoinMemory:   "--max-memory",
	setting.EventLabel:   "--event",
	setting.Kept:         "--keep",
	setting.Inspect:      "candor inspect",

	setting.Samples:         "--from lm-eval",
	setting.ChoiceNorm:      "--choice-norm",
	setting.TargetDelimiter: "--target-delimiter",
	setting.Filters:         "--filter",
	setting.RightChoice:     "--label",

	setting.Logits:      "--input logits",
	setting.ClassKinds:  "--input probs, logits or logprobs",
	setting.BFloat16:    "--bfloat16",
	setting.MemberAxis:  "--member-axis",
	setting.Drop:        "--on-invalid drop",
	setting.Renormalize: "--renormalize",

	setting.Members:     "--task ensemble",
	setting.LabelScores: "--task multilabel",
	setting.MeansAndSDs: "--task regression --mean FILE --std FILE",
	setting.Tables:      "--prob, or --task regression or quantiles",
	setting.EachModel:   "candor compare",
	setting.Stream:      "candor eval -",
	setting.State:       "candor eval --state",
	setting.ReadState:   "candor merge FILE",

	setting.OfClasses:   "--task classification or binary",
	setting.OfDirichlet: "--input dirichlet",
	setting.OfMembers:   "--task ensemble",
	setting.OfNormals:   "--task regression",
	setting.OfQuantiles: "--task quantiles",
	setting.OfSamples:   "--task samples",
	setting.OfLogLiks:   "--task loglik",
	setting.OfForecasts: "--task regression, quantiles or samples",
	setting.OfMeans:     "--task regression or samples",
	setting.Out:         "--ood",
	setting.Scaled:      "candor eval --temperature-scaled",
	setting.Memory:      "--max-memory",
	setting.Metrics:     "--metrics of candor eval",
	setting.Described:   "'candor metrics'",

	setting.FitMemory:   "what --max-memory leaves",
	setting.OffDiagonal: "off_diagonal",
	setting.Bias:        "bias",
	setting.Weighted:    "off_diagonal and bias",

	setting.Gate:   "--fail-if",
	setting.Format: "--format",
	setting.JSON:   "--json",
}

func init() { setting.Spell(flagsOf) }
