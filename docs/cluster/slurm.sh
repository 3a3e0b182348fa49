#!/usr/bin/env bash
# A cluster of Onrush as a job of Slurm: one worker on each node, and a notebook that uses all of them.
#
#     sbatch docs/cluster/slurm.sh                   the workers stay until the job ends
#     sbatch docs/cluster/slurm.sh report.ipynb      runs the notebook on the first node, then the job ends
#
# The notebook gets the address of the workers as its parameter `address`. Onrush must be installed at the same path on
# all nodes, and the files that the notebook reads must lie in a folder that all nodes share. The job needs `--mem`.
#SBATCH --job-name=onrush
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --mem=120G
#SBATCH --time=04:00:00
#SBATCH --output=onrush-%j.log
set -euo pipefail

notebook="${1:-}"
port="${ONRUSH_PORT:-7433}"

# The token: that of the environment, else of the file in the shared home folder, else one of this job alone. `srun`
# passes it on in the environment of each task, which other users cannot read.
token_file="${XDG_CONFIG_HOME:-$HOME/.config}/onrush/token"
if [[ -z "${ONRUSH_TOKEN:-}" ]]; then
    if [[ -r "$token_file" ]]; then
        ONRUSH_TOKEN="$(<"$token_file")"
    elif [[ -n "$notebook" ]]; then
        ONRUSH_TOKEN="$(onrush cluster token)"
    else
        echo "no token was found for clients: write the output of \`onrush cluster token\` to $token_file" >&2
        exit 1
    fi
fi
export ONRUSH_TOKEN

# Slurm gives megabytes of a node. The worker gets five eighths for its operators, which is not all that it uses. The
# session on the first node gets an eighth.
worker_memory="$((SLURM_MEM_PER_NODE * 5 / 8))M"
export ONRUSH_MEMORY="$((SLURM_MEM_PER_NODE / 8))M"

# Since Slurm 22.05 a step must repeat the CPUs of the job.
srun --ntasks="$SLURM_JOB_NUM_NODES" --ntasks-per-node=1 --cpus-per-task="$SLURM_CPUS_PER_TASK" --kill-on-bad-exit=1 \
    onrush session worker-node --listen "0.0.0.0:$port" --threads "$SLURM_CPUS_PER_TASK" --memory "$worker_memory" &
workers=$!
trap 'kill "$workers" 2>/dev/null || true; wait "$workers" 2>/dev/null || true' EXIT

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
printf -v list '%s,' "${nodes[@]/%/:$port}"
address="onrush://${list%,}"

# A worker that does not listen within a minute ends the job.
for node in "${nodes[@]}"; do
    for ((second = 0; second < 60; second++)); do
        timeout 1 bash -c "exec 3<>/dev/tcp/$node/$port" 2>/dev/null && continue 2
        kill -0 "$workers" 2>/dev/null || break
        sleep 1
    done
    echo "the worker on $node does not listen on port $port: its message is above" >&2
    exit 1
done
echo "let c = connect(\"$address\");"

if [[ -z "$notebook" ]]; then
    wait "$workers"
    exit
fi
# A session of this job alone: one that runs already has another environment.
ONRUSH_RUNTIME_DIR="$(mktemp -d /tmp/onrush.XXXXXX)"
export ONRUSH_RUNTIME_DIR
onrush run -p "address=$address" "$notebook" -o "${notebook%.ipynb}-$SLURM_JOB_ID.ipynb"
