# Removes the packages. Prints `left FILE` for each file that was not there before, and for each folder of the
# environment. Two caches are left out: that of Onrush, and the folder of cargo, which `:dep` uses.
set -e
cd "$HOME"
packages=$(venv/bin/pip list --format freeze 2> /dev/null | sed -n 's/^\(onrush[^=]*\)==.*/\1/p')
venv/bin/pip uninstall --quiet --yes $packages jupyterlab_widgets nanoarrow
{
    find . -type f ! -name '*.pyc' ! -path './.cache/onrush/*' ! -path './.cargo/*'
    find ./venv -type d ! -name __pycache__
} | sort > after.txt
# pip leaves folders without files that several packages share, or that had folders alone.
jupyter='jupyter(/kernels|/labextensions(/@[a-z-]+)?)?'
toolchain='toolchain(/prelude|/lib(/rustlib(/x86_64-unknown-linux-gnu)?)?)?'
diff before.txt after.txt |
    sed -n -E -e "\\#^> \\./venv/share(/$jupyter|/onrush(/$toolchain)?)?\$#d" -e 's/^[<>] /left /p'
