#!/bin/sh
# Evaluates a shard of the predictions in each task of a job array:
#   job=$(sbatch --parsable --array=0-31 slurm.sh)
#   sbatch --dependency=afterok:$job --wrap 'candor merge states/*.state --expect 32 --json > result.json'
# A task that is requeued goes on from its checkpoint.
#SBATCH --requeue
#SBATCH --signal=TERM@60
mkdir -p states
exec candor eval predictions.npy --labels labels.npy --shard slurm --threads "${SLURM_CPUS_ON_NODE:-1}" \
  --state "states/$SLURM_ARRAY_TASK_ID.state" --checkpoint "states/$SLURM_ARRAY_TASK_ID.checkpoint" --resume >"states/$SLURM_ARRAY_TASK_ID.txt"
