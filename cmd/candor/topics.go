package main

import (
	"github.com/spf13/cobra"
)

// topics are the pages of candor help that belong to no command, in the order in which they are listed.
var topics = []topic{
	{
		name: "formats", short: "files, shards, pipes and labels",
		long: `Arrays are .npy or .npz files of probabilities or logits, (N, K) for K classes or (N,) for P(y = 1), as float16,
float32, float64 or bfloat16. An array of an .npz can be named: preds.npz:logits. Tables are .csv, .tsv, .jsonl,
.parquet, .arrow and .safetensors; 'candor help tables' describes them.

Several files are shards, taken in natural order; a folder or a pattern in quotes ('part-*.csv') is all files in it. "-" is
standard input. A pipe, such as a shell's /dev/fd/63, is read once, like standard input; --name says what messages call it.

Labels are whole numbers from 0 to K-1, one per row, from --labels or from an array "labels" in the .npz. Messages number rows
and columns from 0.

Nothing is guessed and no row is silently left out. Rows that cannot be probabilities are an error, unless --on-invalid drop
leaves them out and counts them.

A file at a URL, https://..., is read by requests of ranges of bytes: a presigned URL of an object store, of which no message shows
what follows the question mark. 'aws s3 presign s3://BUCKET/KEY' makes one. A pipe needs no URL: 'aws s3 cp s3://BUCKET/KEY - |
candor eval -'.`,
		example: `  candor eval shard-*.npz --input logits --state all.state
  candor eval part-1.npy part-2.npy --labels labels.npy --on-invalid drop`,
		flags: "labels name weights on-invalid renormalize bfloat16",
	},
	{
		name: "tables", short: "columns of tables, and rows of several of them",
		long: `In a table --prob names the columns of probabilities, or --prob-prefix what their names begin with, and --label the column of
true classes: names of classes, or numbers from 0. In JSON Lines the columns are fields, also nested ones (target.idx). One
column may have all scores of a row: a list, or a score for each name in --classes. candor prints which column has which role.

--labels TABLE:COLUMN takes the labels from another table, by position or matched by --id. --pivot takes a table that has a row
for each class. --percent takes probabilities from 0 to 100, such as the confidence that a model puts into words.`,
		example: `  candor eval predictions.csv --prob-prefix prob_ --label label
  candor eval predictions.jsonl --prob probs --label label
  candor eval binary.csv --prob p --label verdict --event spam
  candor eval predictions.csv --prob-prefix prob_ --labels truth.csv:label --id id
  candor eval long.csv --pivot class --id id --prob p --label truth --classes cat,dog
  candor eval answers.csv --prob confidence --correct right
  candor eval verbal.csv --prob confidence --correct right --percent`,
		flags: "prob prob-prefix logit-prefix label-prefix correct classes no-header pivot id on-unmatched keep percent",
	},
	{
		name: "tasks", short: "classes, events, labels, members of an ensemble, decisions",
		long: `Two columns, (N, 2), are a binary task as (N,) is: P(y = 1) is column 1, or what --event says; --task classification keeps two
classes. --event says which label, or which of two classes, is the event.

With --task ensemble the files are the members, each (N, K) or (N,), or one array of all members, (M, N, K). Metrics are
computed on the mean of their probabilities, and on how much they disagree. With --task multilabel the columns are independent
labels, each with its own probability, and --labels has a 0 or 1 for each, (N, K); there is a document for each label, and their
averages. With --task loglik a row has the log-likelihoods under M draws of a model's parameters, (N, M), without labels, for
WAIC and leave-one-out estimates. --input dirichlet takes the parameters of a Dirichlet distribution per row. Forecasts of
numbers are described by 'candor help forecasts'.

A row's decision is its most probable class, the first one if several are equal; for (N,) it is class 1 if p > 1/2. If other
decisions were made, pass them by --decisions: accuracy, confidence and the top label's bins then use the decisions and their
probabilities. --confidence-scores are your own scores, higher for surer rows: rows are binned by them, and rejection and ranking
metrics (calibration_auc, aurc, retention_accuracy and the like) take rows in their order; within a bin the probabilities are
still what is compared. --ood names the same model's scores of out-of-distribution rows, which its doubt should tell from the
others.`,
		example: `  candor eval members.npy --labels labels.npy --task ensemble
  candor eval model-1.npy model-2.npy --labels labels.npy --task ensemble --metrics average_kl
  candor eval probs.npy --labels tags.npy --task multilabel --fail-if 'ece>0.05'
  candor eval parameters.npy --labels labels.npy --input dirichlet
  candor eval loglik.npy --task loglik --metrics all
  candor eval logits.npz --input logits --ood other.npz --metrics 'ood_auroc(score=energy)'`,
		flags: "task input event member-axis decisions confidence-scores ood temperature-scaled",
	},
	{
		name: "forecasts", short: "regression, quantiles, samples; hubverse and nixtla",
		long: `Regression forecasts are compared with observed values. --task regression takes a mean and a standard deviation per row,
quantiles takes quantiles, and samples takes M samples. Their files are tables (.csv, .tsv, .txt, also .gz and .zst) whose first
line names the columns: mean, sd and observed, or what --mean, --std and --observed say; for quantiles named q0.05 and so on,
--quantile-prefix q. Or they are arrays: an .npz with these names, (N, 3), (N, 2), (N, Q) with --levels, or (N, M), and --labels
are the observed values. --from hubverse and nixtla read files of several models, --oracle has what was observed, and
--transform log1p compares quantiles and samples on a log scale.

--distribution says that a mean and a standard deviation are those of a Laplace, logistic or Student's t distribution instead of
a normal one; nll, crps, coverage and everything else that takes quantiles follow it. --scale COLUMN is its scale parameter,
instead of the standard deviation.`,
		example: `  candor eval forecast.csv --task regression --mean mu --std sigma --observed y --group site
  candor eval forecast.npz --task regression --plot pit.png --plot-kind pit
  candor eval forecast.csv --task regression --mean mu --scale sigma --observed y --distribution laplace
  candor eval quantiles.csv --task quantiles --quantile-prefix q --observed y --metrics default,crps
  candor eval quantiles.npy --labels obs.npy --task quantiles --levels 0.05,0.5,0.95
  candor eval draws.npy --labels obs.npy --task samples --fail-if 'crps_fair>2'
  candor eval 2026-11-23-model.csv --from hubverse --oracle oracle.csv --output-type quantile --on-unmatched drop
  candor eval cv.csv --from nixtla --model AutoARIMA`,
		flags: "mean std scale distribution observed error quantile-prefix levels from model target output-type oracle transform tasks-json",
	},
	{
		name: "survival", short: "the time until an event, with censored rows",
		long: `--task survival reads probabilities that an event has happened by a time, when each row was last seen (--time), and whether
the event happened then (--event: 1, or 0 for a censored row). --prob-prefix finds columns whose names end in a time, as risk_720;
--prob names columns, and --horizons their times. --input survival says that they are probabilities that the event has not
happened. An .npz has risks (N, H), time and event; of arrays in files, --time and --event name the files.

Everything is judged at each of --horizons, and metrics are then brier_ipcw(horizon=720) and the like. Of curves with many times,
name those that are judged. Rows that were not seen until the horizon count as far as they were seen; where nothing can be judged,
values are null with a reason. docs/survival.md is the guide.`,
		example: `  candor eval patients.csv --task survival --time days --event died --prob-prefix risk_
  candor eval patients.csv --task survival --time days --event died --prob p5 --horizons 1826
  candor eval curves.npz --task survival --input survival --curve-times 180,360,540,720 --horizons 360,720
  candor eval patients.csv --task survival --time days --event died --prob-prefix risk_ --fail-if 'bias_km(horizon=720).low>0.05'`,
		flags: "time horizons curve-times",
	},
	{
		name: "language-models", short: "tokens, prompts and lm-evaluation-harness",
		long: `--ignore-label names labels of rows that do not count, as the tokens of a prompt. --bytes gives bits per byte of a language
model's tokens, --sequence the NLL of whole sequences.

With --from lm-eval the files are what lm-evaluation-harness logs of multiple-choice tasks, samples_*.jsonl, or the folder of a
model, whose tasks are read together. A row has the log-likelihoods of the choices of a question. Choices are not classes:
metrics of classes, base rates and skill have no value. --group task, or a field as doc.subject, groups the rows.`,
		example: `  candor eval logits.npy --labels labels.npy --input logits --ignore-label -100 --metrics nll,perplexity
  candor eval logits.npy --labels labels.npy --input logits --bytes bytes.npy --sequence sequences.npy
  candor eval samples_mc.jsonl --from lm-eval`,
		flags: "ignore-label bytes sequence choice-norm target-delimiter filter",
	},
	{
		name: "definitions", short: "which metrics, and as which system computes them",
		long: `The default set of metrics is small. --metrics all gives the rest, and a metric that a gate names is always evaluated.
'candor metrics' lists them, 'candor metrics NAME' explains one; 'candor score' writes the values of each row.

` + likeHelp + `.`,
		example: `  candor eval probs.npy --labels labels.npy --metrics 'default,ece(bins=30),mce'
  candor eval probs.npy --labels labels.npy --metrics 'brier,brier_skill,auroc(average=macro)'
  candor eval probs.npy --labels labels.npy --like torchmetrics`,
		flags: "metrics like bins confidence seed",
	},
	{
		name: "groups", short: "groups of rows, clusters and slices",
		long: `--group also gives every metric for each group of rows that have the same value in a column of a table, in an array of each
.npz, or in a file of whole numbers or text, one per row. Up to 1,000 groups have all metrics; of up to 100,000 sums are kept, for
means over rows and ece. Each group of at least --min-rows rows is tested: whether as many events came as its scores say, in all
rows and in bins. --adjust allows for the number of tests, and the first line names the groups that are off. --plot uses all
rows, and so do gates unless they begin with worst_group.

--cluster says which rows depend on each other, by a column, array or file like that of --group: frames of a video, visits of a
patient. Intervals and the verdict are then by clusters, and metrics without such an interval have none. docs/clusters.md has
more.

--slice-by site,age,score crosses columns, and says which values, pairs and triples of values the scores are wrong about, worst
first, with p-values adjusted for their number; score is the model's own. Numbers have ten bins of equal mass, or those of
--slice-edges. It also gives MCGrad's multicalibration_error, and multicalibration_gap_p, a test of all slices together.`,
		example: `  candor eval visits.csv --prob p --label y --cluster patient
  candor eval probs.npy --labels labels.npy --group sites.npy
  candor eval probs.npy --labels labels.npy --group users.npy --min-rows 100 --adjust bh
  candor eval probs.npy --labels labels.npy --group sites.npy --fail-if 'worst_group.ece.low>0.05'
  candor eval people.csv --prob p --label y --slice-by site,age,score --slice-edges age=0,18,65,inf
  candor eval people.csv --prob p --label y --slice-by site,age --fail-if 'multicalibration_gap_p<0.01'`,
		flags: "group cluster slice-by slice-edges min-rows adjust",
	},
	{
		name: "output", short: "tables, JSON, CSV, pictures",
		long: `A result is a table, with the verdict in its first line. --format markdown is for a page, csv for a spreadsheet, with all
digits, and json, which --json stands for, for programs: docs/json.md describes both. On a terminal there are colours, unless NO_COLOR is set
or TERM is dumb; tables take its width, and leave out what has no room and say so. A pipe counts as 100 columns.

--plot draws a picture, and --plot-kind says which. docs/pictures.md shows them.`,
		example: `  candor eval --format csv
  candor eval probs.npy --labels labels.npy --plot corp.png --plot-kind corp
  candor eval probs.npy --labels labels.npy --plot risk.svg --plot-kind risk-coverage`,
		flags: "json format plot plot-y plot-kind html",
	},
	{
		name: "gates", short: "conditions and reports for CI",
		long: `--fail-if and --require are gates: the exit code is 1 if a condition of --fail-if holds, if one of --require does not, or if
there is no value. A condition is NAME, NAME.low or NAME.high, then >, >=, < or <=, and a number. worst_group.bias.low>0.05 looks
at all groups of at least --min-rows rows, with intervals that allow for their number; delta.nll.low>0 is of candor compare and
candor drift. --report writes the result for a CI system: JUnit XML, GitHub's step summary, MLflow's metrics, OpenMetrics.
docs/ci.md describes them.`,
		example: `  candor eval probs.npy --labels labels.npy --fail-if 'ece.low>0.02'
  candor eval probs.npy --labels labels.npy --require 'accuracy.low>0.9' --report junit=report.xml,github=summary.md`,
		flags: "fail-if require report",
	},
	{
		name: "exit-codes", short: "what the exit code says",
		long: `0   done
1   a gate failed: a condition of --fail-if holds, one of --require does not, or there is no value
2   the command line is wrong, or an output cannot be written
3   the predictions or states cannot be used
70  a fault of candor, which says how to report it

With --json an error is one JSON object on standard error, and nothing else is there; docs/json.md describes it.`,
		example: `  candor eval probs.npy --labels labels.npy --fail-if 'ece>0.05'`,
	},
	{
		name: "memory", short: "shards, states, threads and memory",
		long: `Files are read in one pass, block by block, so their size is not limited by memory. --max-memory is what candor keeps itself to,
and --threads how many cores it takes; results do not depend on either, except that a state says how many scores it may keep.

--state writes what was kept of the rows. 'candor merge' adds states up, and answers as if it had read all rows: shards may be
evaluated on several machines. With --quiet no result is printed, and none is computed unless gates or reports need it.

--shard I/N reads the I-th of N shards of the rows, from 0, for a run that is divided among machines or processes: rows of arrays
and safetensors, row groups of Parquet, record batches of Arrow's files, and otherwise whole files. --shard slurm is the task of
a job array of Slurm, --shard k8s/N the completion of an Indexed Job of Kubernetes. --files-from reads the names of the files from
a list. Each state says which shard it is of. When all shards are merged, the state equals that of an undivided run. A shard
without rows prints nothing, but writes a state. For files that were not divided by --shard, --first-row says where each begins, for
metrics that draw random numbers by row.

--checkpoint FILE saves what a run has read, every minute or after each --checkpoint-every, and when SIGTERM or SIGINT ends it.
With --resume the same command goes on from there, or starts from the beginning if there is no such file. The run may be killed at
any moment; the result has the same bytes. It is an error if a file or a flag has changed. The checkpoint is removed at the end.`,
		example: `  candor eval shard-1.npz --input logits --state shard-1.state
  candor merge shard-1.state
  candor eval probs.npy --labels labels.npy --shard 0/8 --state shard-0.state
  candor eval probs.npy --labels labels.npy --checkpoint probs.checkpoint --resume
  candor eval probs.npy --labels labels.npy --threads 2 --max-memory 1GiB`,
		flags: "state quiet shard files-from first-row checkpoint checkpoint-every resume threads max-memory",
	},
	{
		name: "comparing", short: "how candor compare reads and judges sets",
		long: `A table with the scores of several models in columns of its own is read with --prob NAME=COLUMN for each. A long table, with
a row for each model and example, is read with --model COLUMN, the column that names the model.

--id COLUMNS matches the rows of sets that stand in other orders, or those of the models of a long table, whose rows are
otherwise taken in their order. A row that not every set has is an error, or is left out of all sets with --on-unmatched
drop and counted. Labels come from each set, or from --labels TABLE:COLUMN, matched by --id too. An .npz has its ids in an
array.

Losses by row, as candor score -o FILE.npz writes them, may stand in place of the predictions of a set, as of a baseline whose
predictions are not kept. Metrics that are means of these have the same differences, others have none. --id then needs the
columns that candor score --id copied.

With --from lm-eval each argument is a file of samples, or the folder of a model. Documents may be in any order: they are
the same if task and doc_hash are, and it is an error if one set has others.

The sets are read side by side, and the differences of each metric are found from their rows: B minus A, with an interval
and a p-value that allow for both models having judged the same rows. p-values of a metric are adjusted by Holm for the
number of pairs, and intervals are not; with --adjust max-t all intervals of a metric hold together, and p-values are
those of the largest |t|. Metrics are not adjusted for each other. A star marks the best value of a metric where it differs from
those of all other sets. --margin nll=0.01 names a difference that does not matter, and says whether the sets are
equivalent, or one is not worse. More than 20 sets need --baseline, with which all others are compared.

--group COLUMN says for which groups of rows which set is better, the worst first: nll, brier, accuracy and bias, or the means of
forecasts, of each group of --min-rows rows, adjusted by --adjust holm or bh over groups and pairs.

--flips FILE writes each row whose decisions differ between two sets: its number, the names of the sets a and b, the label,
both decisions and their probabilities, in the order of rows. With --id it has the id in place of the number. The first 20 are
printed too.

Rows are taken as independent. For regression forecasts (--task regression, quantiles, samples) of consecutive times,
--horizon takes the test of Diebold and Mariano: rows must then be in the order of time. --series COLUMN does so within
each of several series, which are taken as independent of each other.

--temperature-scaled adds the differences after temperature scaling, which take the fitted temperatures as fixed. With
--cluster each fold has whole clusters.

--cluster COLUMN says which rows depend on each other, as the frames of a video, the answers to a prompt, or the forecasts of
one day, and errors of differences are then by the sums of clusters. Sets must agree about the cluster of each row.

A row that is bad in one set is left out of all with --on-invalid drop, and counted once. It is an error if sets differ in
the label, the weight or the observed value of a row.

With --from hubverse or nixtla, the sets are the models of files that have several, or those of --model. Such forecasts
have a relative skill, and others with --baseline: the geometric mean of the ratios of a set's mean wis, crps or absolute
error to that of each set, over the rows that both have. --baseline NAME scales it to 1 for that set, and gives the plain
ratio to it too.`,
		example: `  candor compare all.csv --model model --id id --prob p --label y
  candor compare a.npy b.npy c.npy --labels labels.npy --adjust max-t
  candor compare a.npy b.npy --labels labels.npy --temperature-scaled
  candor compare a.npy b.npy --labels labels.npy --state pair.state
  candor compare a.npy b.npy --labels labels.npy --flips flips.csv
  candor compare frames.csv --prob old=p_old --prob new=p_new --label y --cluster video
  candor compare a.npy b.npy --labels labels.npy --plot gaps.svg --plot-y gap
  candor compare a.npy b.npy --labels labels.npy --report github=summary.md
  candor compare model-a model-b --from lm-eval
  candor compare a.csv b.csv --task regression --mean mu --std sigma --observed y --horizon 7
  candor compare a.csv b.csv --task regression --mean mu --std sigma --observed y --horizon 7 --series site
  candor compare cv.csv --from nixtla --baseline SeasonalNaive`,
	},
}

// likeHelp describes --like.
const likeHelp = `--like SYSTEM computes metrics as another system does. Metrics over bins are ece, ece_positive,
ece_top_label, ece_floor, ece_floor_q95, ece_p, detectable_gap, mce, rmsce, rmsce_debiased, calibration_error_squared,
ece_unweighted and ece_bayes_*. What is not listed stays the same, and a metric's own options
take precedence.

  um            uncertainty_metrics (numpy)
    over bins     30 bins, [a,b); p = 0 is dropped; p = 1 has a bin of its own
    rmsce         30 bins of equal mass: rmsce(adaptive)
    sce           30 bins; p = 0 is dropped; p = 1 has a bin of its own: sce(one=overflow,threshold=0)
    ace, tace     30 bins; p = 0 is dropped: ace(threshold=0)
    brier         minus 1: brier(form=minus_one), and so the terms that add up to it
  tfp           tfp.stats and Keras
    over bins     15 bins; the bin of p is floor(15 p), in the type of the scores
    brier         minus 1: brier(form=minus_one), and so the terms that add up to it
  torchmetrics
    over bins     15 bins, [a,b), with torch.linspace's edges: of a binary task in the type of the
                  scores, otherwise in float32; p = 1 has a bin of its own
  guo           temperature_scaling, by an author of Guo et al. 2017
    over bins     15 bins, (a,b], with torch.linspace's edges in float32; p = 0 is in no bin
  blog          "Metrics for uncertainty estimation"
    over bins     15 edges, so 14 bins, (a,b]; p = 0 has a bin of its own

All systems except torchmetrics bin the top label's score in a binary task too, also in
ece_equal_mass and ece_sweep, unless a metric's name says otherwise. ece_equal_mass, sce, ace and
tace have the system's number of bins. --bins N replaces it everywhere`

// topicCommands returns a page of candor help for each topic.
func topicCommands() (l []*cobra.Command) {
	for _, t := range topics {
		l = append(l, &cobra.Command{Use: t.name, Short: t.short, Long: t.long, Example: t.example})
	}
	return append(l, &cobra.Command{Use: allFlags, Short: "every flag of candor eval", Long: "The flags of candor eval, by topic. Other commands take those of them that their own help names.", Example: "  candor help flags"})
}
