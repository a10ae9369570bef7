// Package setting holds the names of what a caller can choose, for the messages that say what to do. A Go program reads the library's
// own names, as Renormalize. The command reads its flags: it alone knows them, and gives them to Spell.
package setting

// Setting is a choice of the caller. Its value is the library's name for it, which is unique.
type Setting string

// Files, columns and arrays to read.
const (
	Labels           Setting = "Labels"
	LabelsFile       Setting = "a file as Labels"
	Observations     Setting = "Observations"     // files of a ForecastOptions
	ObservedFiles    Setting = "Options.Observed" // in an Options
	Weights          Setting = "Weights"
	Decisions        Setting = "Decisions"
	ConfidenceScores Setting = "ConfidenceScores"
	Groups           Setting = "Groups"
	Cluster          Setting = "Cluster"
	SliceBy          Setting = "sliced.Column"
	SliceEdges       Setting = "sliced.Column.Edges"
	Mean             Setting = "Mean"
	SD               Setting = "SD"
	Observed         Setting = "Observed"
	Error            Setting = "Error"
	Weight           Setting = "Weight"
	Levels           Setting = "Levels"
	Prefix           Setting = "Prefix"
)

// Columns of a table with the scores of classes.
const (
	ScoreColumns Setting = "Columns.Scores"
	LabelColumn  Setting = "Columns.Label"
	ClassNames   Setting = "Columns.Classes"
	Correct      Setting = "Columns.Correct"
	Keys         Setting = "Columns.Keys"
	LabelPrefix  Setting = "Columns.TagPrefix"
	Pivot        Setting = "Pivot"
	OOD          Setting = "Columns.Only"
	Unmatched    Setting = "Truth.Drop"
	JoinMemory   Setting = "Truth.Memory"
	NoHeader     Setting = "NoHeader"
	EventLabel   Setting = "Event"
	Kept         Setting = "Columns.Kept"
	Inspect      Setting = "InspectTable" // suggests roles
	RowFile      Setting = "RowMark.NPY"  // and the arrays beside it
)

// Samples of lm-evaluation-harness.
const (
	Samples         Setting = "OpenChoices"
	ChoiceNorm      Setting = "Norm"
	TargetDelimiter Setting = "Delimiter"
	Filters         Setting = "Filters"
	RightChoice     Setting = "Label"
)

// How scores are read.
const (
	Logits      Setting = "Kind metrics.Logits"
	ClassKinds  Setting = "Kind metrics.Probs, Logits or LogProbs"
	BFloat16    Setting = "BFloat16"
	MemberAxis  Setting = "MemberAxis"
	Drop        Setting = "Options.Drop"
	IgnoreLabel Setting = "Ignore of package predictions"
	Percent     Setting = "Percent of package predictions"
	Bytes       Setting = "Bytes of package predictions"
	Sequences   Setting = "Sequences of package predictions"
	Renormalize Setting = "Options.Renormalize"
)

// Functions for other kinds of input.
const (
	Members     Setting = "OpenMembers"
	LabelScores Setting = "OpenLabels"
	MeansAndSDs Setting = "OpenForecast with Mean and SD"
	Tables      Setting = "OpenTable and OpenForecast"
	EachModel   Setting = "one Open for each" // several models that are compared
	Stream      Setting = `Open of "-"`       // standard input
	State       Setting = "an eval.Evaluation"
	ReadState   Setting = "eval.Evaluation.UnmarshalBinary"
)

// What metrics refer to or need.
const (
	OfClasses   Setting = "metrics.Probs, Logits or LogProbs"
	OfDirichlet Setting = "metrics.Dirichlet"
	OfMembers   Setting = "Spec.Members"
	OfNormals   Setting = "metrics.Normals"
	OfQuantiles Setting = "metrics.Quantiles"
	OfSamples   Setting = "metrics.Samples"
	OfLogLiks   Setting = "metrics.LogLiks"
	Costs       Setting = "Spec.Costs"
	Horizons    Setting = "Levels of Survival"
	Risks       Setting = "Columns of Survival"
	RiskPrefix  Setting = "Prefix of Survival"
	Time        Setting = "Time of Survival"
	HappenedAt  Setting = "Event of Survival"
	OfSurvival  Setting = "the probabilities of the event, 1 minus those of survival"
	OfEvents    Setting = "metrics.Survival"
	OfVectors   Setting = "metrics.Multivariate"
	OfStated    Setting = "metrics.MultivariateNormals"
	OfForecasts Setting = "metrics.Normals, Quantiles or Samples"
	OfMeans     Setting = "metrics.Normals or Samples"
	Out         Setting = "Spec.Out"
	Scaled      Setting = "Evaluation.Scaled"
	Memory      Setting = "Spec.Memory"
	Metrics     Setting = "Spec.Metrics"
	Described   Setting = "eval.Descriptors"
)

// How recalibration maps are fitted.
const (
	FitMemory   Setting = "Options.Memory"
	OffDiagonal Setting = "OffDiagonal"
	Bias        Setting = "Bias"
	Weighted    Setting = "OffDiagonal and Bias"
)

// Output.
const (
	Gate        Setting = "gate"
	Requirement Setting = "requirement"
	Format      Setting = "format"
	JSON        Setting = "JSON"
)

var spelled map[Setting]string

// Spell sets the names of settings in messages. A program must call it before anything else, if at all.
func Spell(names map[Setting]string) { spelled = names }

// String returns the name of a setting.
func (s Setting) String() string {
	if name, ok := spelled[s]; ok {
		return name
	}
	return string(s)
}

// How forecasts of models are read and joined with what was observed.
const (
	Oracle        Setting = "ModelOptions.Oracle"
	Model         Setting = "ModelOptions.Model"
	Target        Setting = "ModelOptions.Target"
	Output        Setting = "ModelOptions.Output"
	DropUnmatched Setting = "ModelOptions.DropUnmatched"
	ModelMemory   Setting = "ModelOptions.Memory"
	Transform     Setting = "Transform"
	PartMemory    Setting = "PartBytes"
)
