# Installs the wheels without a network and runs a first cell, as a user who can write to the own home folder alone.
# Prints `seconds NAME VALUE` for what is measured.
set -e
cd "$HOME"
now() { date +%s.%N; }
since() { awk "BEGIN { printf \"seconds $2 %.1f\\n\", $(now) - $1 }"; }
python3 -m venv venv
# Files that pip leaves behind are found by comparison.
touch before.txt after.txt out.ipynb
{ find . -type f ! -name '*.pyc'; find ./venv -type d ! -name __pycache__; } | sort > before.txt
start=$(now)
venv/bin/pip install --quiet --no-index --find-links /mnt 'onrush-kernel[toolchain]'
since "$start" install
venv/bin/onrush run first.ipynb -o out.ipynb
since "$start" answered
grep -q '"42"' out.ipynb
venv/bin/pip list 2> /dev/null | grep -i onrush
du -sh venv
