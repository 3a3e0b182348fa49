# Runs notebooks with packages that the user cannot write to, and an empty cache.
set -e
cd "$HOME"
if touch venv/share/onrush/probe 2> /dev/null; then
    echo 'the packages can be written to'
    exit 1
fi
start=$(date +%s.%N)
venv/bin/onrush run first.ipynb -o out.ipynb
awk "BEGIN { printf \"seconds first_run %.1f\\n\", $(date +%s.%N) - $start }"
grep -q '"42"' out.ipynb
venv/bin/onrush doctor
venv/bin/onrush run crates.ipynb -o out.ipynb
grep -q 'built in Rust alone' out.ipynb
python3 client.py
du -sh .cache/onrush
