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

Several files are shards of one set, read in natural order (part-2 before part-10). A folder, or a pattern in quotes
('part-*.csv'), stands for all its files. "-" is standard input. A pipe, such as a shell's /dev/fd/63, is read once, like
standard input; --name sets the name that messages use for it.

Labels are whole numbers from 0 to K-1, one per row, from --labels or from an array "labels" in the .npz. Messages number rows
and columns from 0.

Nothing is guessed and no row is silently left out. A row that does not hold probabilities is an error; with --on-invalid drop
such rows are left out and counted.

A file may be a URL, https://..., such as a presigned URL of an object store ('aws s3 presign s3://BUCKET/KEY' makes one). candor
reads it with range requests, and never prints the part after the question mark, which is a credential. A pipe needs no URL:
'aws s3 cp s3://BUCKET/KEY - | candor eval -'.

A command line that is longer than the system allows goes into a file: 'candor @FILE' takes its arguments from FILE, one on each
line or, if the file has a zero byte, one before each zero byte.`,
		example: `  candor eval shard-*.npz --input logits --state all.state
  candor eval part-1.npy part-2.npy --labels labels.npy --on-invalid drop`,
		flags: "labels name weights on-invalid renormalize bfloat16",
	},
	{
		name: "tables", short: "columns of tables, and rows of several of them",
		long: `In a table, --prob names the columns of probabilities, or --prob-prefix the prefix of their names. --label names the column of
true classes: class names, or numbers from 0. In JSON Lines the columns are fields, including nested ones (target.idx). One
column may hold all scores of a row: a list, or a score for each name in --classes. candor prints the role of each column.

--labels TABLE:COLUMN takes the labels from another table, by position or matched by --id. --pivot reads a table with
one row per class. --percent reads probabilities from 0 to 100, such as the confidence that a model states in words.`,
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
		long: `Two columns, (N, 2), are a binary task, just as (N,) is: P(y = 1) is column 1, or the column that --event names. --task
classification keeps the two classes apart. --event says which label, or which of two classes, is the event.

With --task ensemble the files are the members, each (N, K) or (N,), or one array of all members, (M, N, K). Metrics are
computed from the mean of the members' probabilities, and from their disagreement. With --task multilabel the columns are
independent labels, each with its own probability, and --labels holds a 0 or 1 for each, (N, K); the result has a document for
each label, and their averages. With --task loglik each row holds log-likelihoods under M draws of a model's parameters, (N, M),
for WAIC and leave-one-out estimates; there are no labels. --input dirichlet reads the parameters of a Dirichlet distribution for
each row. 'candor help forecasts' describes forecasts of numbers.

A row's decision is its most probable class, the first one if several are equal; for (N,) it is class 1 if p > 1/2. If other
decisions were made, pass them with --decisions: accuracy, confidence and the top label's bins then use the decisions and their
probabilities. --confidence-scores are your own scores, higher for surer rows: rows are binned and ranked by them, for
calibration_auc, aurc, retention_accuracy and the like; the gap of a bin is still that of the probabilities. --ood names the same
model's scores of out-of-distribution rows, which its uncertainty should tell apart from the others.

--costs FILE says what each decision costs for each true class: classes are rows, decisions columns. The decision of a row is then the
one with the least expected cost; decision_cost is the mean cost of these, constant_cost that of the best decision that is the same for
all rows. There may be more decisions than classes, as one that asks a person.`,
		example: `  candor eval members.npy --labels labels.npy --task ensemble
  candor eval model-1.npy model-2.npy --labels labels.npy --task ensemble --metrics average_kl
  candor eval probs.npy --labels tags.npy --task multilabel --fail-if 'ece>0.05'
  candor eval parameters.npy --labels labels.npy --input dirichlet
  candor eval loglik.npy --task loglik --metrics all
  candor eval logits.npz --input logits --ood other.npz --metrics 'ood_auroc(score=energy)'
  candor eval probs.npy --labels labels.npy --costs costs.csv`,
		flags: "task input event member-axis decisions confidence-scores costs ood temperature-scaled",
	},
	{
		name: "forecasts", short: "regression, quantiles, samples; hubverse and nixtla",
		long: `Regression forecasts are compared with observed values. --task regression takes a mean and a standard deviation per row,
quantiles takes quantiles, and samples takes M samples. The files are tables (.csv, .tsv, .txt, also .gz and .zst) whose first line
names the columns: mean, sd and observed, or the names given by --mean, --std and --observed; for quantiles in columns q0.05 and
so on, --quantile-prefix q. Or they are arrays: an .npz with these names, (N, 3), (N, 2), (N, Q) with --levels, or (N, M), with
the observed values in --labels. --from hubverse and --from nixtla read files of several models, --oracle holds the observed
values, and --transform log1p compares quantiles and samples on a log scale.

--distribution says that the forecasts are Laplace, logistic or Student's t distributions instead of normal ones; nll, crps,
coverage and everything else that uses quantiles follow it. --scale COLUMN gives the scale parameter instead of the standard
deviation.`,
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
		long: `--task survival reads the probabilities that an event has happened by given times, the time at which each row was last seen
(--time), and whether the event happened then (--event: 1, or 0 for a censored row). --prob-prefix finds columns whose names end
in a time, such as risk_720; --prob names columns, and --horizons their times. --input survival reads probabilities that the event
has not happened. An .npz holds risks (N, H), time and event; for arrays in separate files, --time and --event name the files.

Everything is evaluated at each of --horizons, so metrics are named brier_ipcw(horizon=720) and the like. For curves with many
times, name the times to evaluate. Rows that were lost before the horizon count for the time that they were seen; where nothing
can be evaluated, the value is null, with a reason. docs/survival.md is the guide.`,
		example: `  candor eval patients.csv --task survival --time days --event died --prob-prefix risk_
  candor eval patients.csv --task survival --time days --event died --prob p5 --horizons 1826
  candor eval curves.npz --task survival --input survival --curve-times 180,360,540,720 --horizons 360,720
  candor compare patients.csv --task survival --time days --event died --prob old=old --prob new=new --horizons 720
  candor eval patients.csv --task survival --time days --event died --prob-prefix risk_ --fail-if 'bias_km(horizon=720).low>0.05'`,
		flags: "time horizons curve-times",
	},
	{
		name: "language-models", short: "tokens, prompts and lm-evaluation-harness",
		long: `--ignore-label names the labels of rows that do not count, such as the tokens of a prompt. --bytes gives bits per byte of a
language model's tokens, --sequence the NLL of whole sequences.

With --from lm-eval the files are the logs of lm-evaluation-harness for multiple-choice tasks, samples_*.jsonl, or the folder of a
model, whose tasks are read together. A row holds the log-likelihoods of the choices of a question. Choices are not classes, so
class-wise metrics, base rates and skill have no value. --group task, or --group with a field such as doc.subject, groups the rows.`,
		example: `  candor eval logits.npy --labels labels.npy --input logits --ignore-label -100 --metrics nll,perplexity
  candor eval logits.npy --labels labels.npy --input logits --bytes bytes.npy --sequence sequences.npy
  candor eval samples_mc.jsonl --from lm-eval`,
		flags: "ignore-label bytes sequence choice-norm target-delimiter filter",
	},
	{
		name: "definitions", short: "the metrics, and the definitions of other systems",
		long: `The default set of metrics is small; --metrics all adds the rest. A metric that a gate names is always computed. 'candor metrics'
lists the metrics, 'candor metrics NAME' explains one, and 'candor score' writes the values of each row.

` + likeHelp + `.`,
		example: `  candor eval probs.npy --labels labels.npy --metrics 'default,ece(bins=30),mce'
  candor eval probs.npy --labels labels.npy --metrics 'brier,brier_skill,auroc(average=macro)'
  candor eval probs.npy --labels labels.npy --like torchmetrics`,
		flags: "metrics like bins confidence seed",
	},
	{
		name: "groups", short: "groups of rows, clusters and slices",
		long: `--group also computes every metric for each group: the rows that share a value in a column of a table, in an array of each .npz,
or in a file of whole numbers or text, one per row. Up to 1,000 groups have all metrics; up to 100,000 groups have means over rows
and ece. Each group of at least --min-rows rows is tested: did as many events happen as its scores predict, overall and in each
bin? --adjust allows for the number of tests, and the first line names the groups that are off. --plot shows all rows together.
Gates look at all rows together, too, unless they begin with worst_group.

--cluster says which rows depend on each other, by a column, array or file like that of --group: frames of a video, visits of a
patient. Intervals and the verdict then allow for that dependence; a metric without such an interval has none. docs/clusters.md
has more.

--slice-by site,age,score crosses columns and finds the values, pairs and triples of values for which the scores are off, worst
first, with p-values adjusted for their number; score is the model's own. Numeric columns are cut into ten bins of equal mass, or
at --slice-edges. It also computes MCGrad's multicalibration_error, and multicalibration_gap_p, a test of all slices together.`,
		example: `  candor eval visits.csv --prob p --label y --cluster patient
  candor eval probs.npy --labels labels.npy --group sites.npy
  candor eval probs.npy --labels labels.npy --group users.npy --min-rows 100 --adjust bh
  candor eval probs.npy --labels labels.npy --group sites.npy --fail-if 'worst_group.ece.low>0.05'
  candor eval people.csv --prob p --label y --slice-by site,age,score --slice-edges age=0,18,65,inf
  candor eval people.csv --prob p --label y --slice-by site,age --fail-if 'multicalibration_gap_p<0.01'`,
		flags: "group cluster slice-by slice-edges min-rows adjust",
	},
	{
		name: "output", short: "tables, JSON, CSV and pictures",
		long: `A result is a table, with the verdict in its first line. --format markdown is for a page, csv for a spreadsheet, with all digits,
and json (or --json) for programs; docs/json.md describes the last two. Terminals get colours, unless NO_COLOR is set or TERM is
dumb. Tables fit the terminal's width; a note names the columns that do not fit. A pipe counts as 100 columns wide.

--plot draws a picture, and --plot-kind chooses which. docs/pictures.md shows them.`,
		example: `  candor eval --format csv
  candor eval probs.npy --labels labels.npy --plot corp.png --plot-kind corp
  candor eval probs.npy --labels labels.npy --plot risk.svg --plot-kind risk-coverage`,
		flags: "json format plot plot-y plot-kind html",
	},
	{
		name: "gates", short: "conditions and reports for CI",
		long: `--fail-if and --require are gates: the exit code is 1 if a condition of --fail-if holds, if one of --require does not, or if
there is no value. A condition is NAME, NAME.low or NAME.high, then >, >=, < or <=, and a number. worst_group.bias.low>0.05 looks
at all groups of at least --min-rows rows, with intervals that allow for their number; delta.nll.low>0 is for candor compare and
candor drift. --report writes the result for a CI system: JUnit XML, a step summary for GitHub, metrics for MLflow, or OpenMetrics
text. docs/ci.md describes them.`,
		example: `  candor eval probs.npy --labels labels.npy --fail-if 'ece.low>0.02'
  candor eval probs.npy --labels labels.npy --require 'accuracy.low>0.9' --report junit=report.xml,github=summary.md`,
		flags: "fail-if require report",
	},
	{
		name: "exit-codes", short: "what the exit codes mean",
		long: `0   done
1   a gate failed: a condition of --fail-if holds, one of --require does not, or there is no value
2   the command line is wrong, or an output cannot be written
3   the predictions or states cannot be used
70  a fault of candor, which says how to report it

With --json an error is one JSON object, alone on standard error; docs/json.md describes it.`,
		example: `  candor eval probs.npy --labels labels.npy --fail-if 'ece>0.05'`,
	},
	{
		name: "memory", short: "shards, states, threads and memory",
		long: `Files are read in one pass, block by block, so they may be larger than memory. --max-memory limits candor's memory, and --threads
the number of cores; results do not depend on either, except that a state records how many scores it may keep.

--state writes the sums from which all answers are computed. 'candor merge' adds such states and answers as if it had read all
rows, so shards can be evaluated on several machines. With --quiet no result is printed, and none is computed unless gates or
reports need it.

--shard I/N reads only shard I of N, counted from 0, so that a run can be divided among machines or processes. It divides arrays
and safetensors by rows, Parquet by row groups, Arrow files by record batches, and everything else by whole files. --shard slurm
takes I and N from a Slurm job array, --shard k8s/N takes I from an Indexed Job of Kubernetes. --files-from reads the file names
from a list. Each state records its shard. When all shards are merged, the state equals that of an undivided run. A shard without
rows prints nothing, but writes a state. For shards that you cut yourself, --first-row gives the number of the first row, for
metrics that draw random numbers by row.

--checkpoint FILE saves the progress of a run, every minute or every --checkpoint-every, and when SIGTERM or SIGINT ends it. With
--resume the same command continues from there, or starts from the beginning if there is no such file. The run may be killed at
any moment; the result has the same bytes. A changed file or flag is an error. The checkpoint is removed at the end.`,
		example: `  candor eval shard-1.npz --input logits --state shard-1.state
  candor merge shard-1.state
  candor eval probs.npy --labels labels.npy --shard 0/8 --state shard-0.state
  candor eval probs.npy --labels labels.npy --checkpoint probs.checkpoint --resume
  candor eval probs.npy --labels labels.npy --threads 2 --max-memory 1GiB`,
		flags: "state quiet shard files-from first-row checkpoint checkpoint-every resume threads max-memory",
	},
	{
		name: "comparing", short: "how candor compare reads and judges sets",
		long: `For a table with a column of scores for each model, give --prob NAME=COLUMN once per model. For a long table, with a row for each
model and example, --model COLUMN names the column that holds the model's name.

--id COLUMNS matches rows by their ids; without it, sets must have their rows in the same order. A row that is missing from a set
is an error; with --on-unmatched drop it is left out of every set, and counted. Labels come from each set, or from --labels
TABLE:COLUMN, also matched by --id. In an .npz the ids are an array.

A set may also be a file of losses by row, as candor score -o FILE.npz writes it: a baseline whose predictions were not kept, for
instance. Metrics that are means of these losses have the same differences; other metrics have none. --id then needs the columns
that candor score --id copied.

With --from lm-eval each argument is a file of samples, or the folder of a model. Documents may be in any order; they
are matched by task and doc_hash, and a document that is missing from a set is an error.

The sets are read side by side. The difference of each metric is B minus A; its interval and p-value are those of a paired
comparison: both models judged the same rows. The p-values of a metric are adjusted for the number of pairs by Holm's method; the
intervals are not adjusted. With --adjust max-t the intervals of a metric hold simultaneously, and p-values are those of the
largest |t|. Nothing is adjusted for the number of metrics. A star marks the best value of a metric if it differs from those of
all other sets. --margin nll=0.01 names a difference that does not matter; the result then says whether the sets are equivalent,
or one is not worse. More than 20 sets need --baseline, the set with which all others are compared.

--group COLUMN says which set is better for each group of rows, worst groups first: by nll, brier, accuracy and bias, or the mean
scores of forecasts, for groups of at least --min-rows rows. --adjust holm or bh adjusts over groups and pairs.

--flips FILE writes each row whose decisions differ between two sets: its number, the names of the sets a and b, the label,
both decisions and their probabilities, in row order. With --id it has the id in place of the number. The first 20 are also
printed.

Rows are assumed to be independent. For forecasts of consecutive times (--task regression, quantiles, samples), --horizon uses the
Diebold-Mariano test; rows must then be in time order. --series COLUMN applies it within each of several series, which are assumed
to be independent of each other.

--temperature-scaled adds the differences after temperature scaling; they treat the fitted temperatures as known. With --cluster
each fold has whole clusters.

--cluster COLUMN says which rows depend on each other, such as the frames of a video, the answers to a prompt, or the forecasts of
one day. The standard errors of differences then come from the sums over clusters. Sets must agree on the cluster of each row.

With --on-invalid drop, a row that is bad in one set is left out of every set, and counted once. It is an error if sets differ in
the label, the weight or the observed value of a row.

With --from hubverse or nixtla, the sets are the models in the files, or those that --model names. Such forecasts get a relative
skill, and so do others with --baseline: the geometric mean of the ratios of a set's mean wis, crps or absolute error to that of
each set, over the rows that both have. --baseline NAME scales it to 1 for that set, and adds the plain ratio to that set.`,
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

All systems except torchmetrics bin the top label's score in binary tasks, too, also for
ece_equal_mass and ece_sweep, unless a metric's name says otherwise. ece_equal_mass, sce, ace and
tace use the system's number of bins. --bins N replaces it everywhere`

// topicCommands returns a page of candor help for each topic.
func topicCommands() (l []*cobra.Command) {
	for _, t := range topics {
		l = append(l, &cobra.Command{Use: t.name, Short: t.short, Long: t.long, Example: t.example})
	}
	return append(l, &cobra.Command{Use: allFlags, Short: "every flag of candor eval", Long: "The flags of candor eval, by topic. Other commands take those of them that their own help names.", Example: "  candor help flags"})
}
