# Removes the packages. Prints `left FILE` for each file that was not there before and is in no cache: that of Onrush, and
# the folder of cargo, which `:dep` uses.
set -e
cd "$HOME"
packages=$(venv/bin/pip list --format freeze 2> /dev/null | sed -n 's/^\(onrush[^=]*\)==.*/\1/p')
venv/bin/pip uninstall --quiet --yes $packages jupyterlab_widgets nanoarrow
find . -type f ! -name '*.pyc' ! -path './.cache/onrush/*' ! -path './.cargo/*' | sort > after.txt
diff before.txt after.txt | sed -n 's/^[<>] /left /p'
