#!/bin/sh
# Installs campaign from this directory, without a network, into a virtual environment.
# usage: install.sh [DIRECTORY]      DIRECTORY: ~/campaign if not given; it should be one that all nodes see
#        PYTHON=/path/to/python3 install.sh …      another Python than the first python3 of PATH
set -eu
here=$(cd "$(dirname "$0")" && pwd)
wanted=$(cat "$here/python")
place=${1:-$HOME/campaign}

python=${PYTHON:-}
for name in "python$wanted" python3; do
    [ -n "$python" ] || python=$(command -v "$name" || true)
done
found=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null) || found='no Python'
if [ "$found" != "$wanted" ]; then
    echo "install.sh: $python is $found; this wheelhouse is for Python $wanted: set PYTHON to one, or take the tar of your version" >&2
    exit 1
fi
if [ -e "$place" ]; then
    echo "install.sh: $place already exists; name another directory, or remove it" >&2
    exit 1
fi

"$python" -m venv --without-pip "$place"
# The wheelhouse's own pip, run from its wheel. The hashes of requirements.txt are compared; no index is asked.
"$place/bin/python" -I "$(echo "$here"/wheels/pip-*.whl)/pip" --isolated --quiet --disable-pip-version-check --no-cache-dir \
    install --no-index --find-links "$here/wheels" --no-deps --require-hashes --no-compile --requirement "$here/requirements.txt"
# Compiled now, since users of a shared directory cannot write into it.
"$place/bin/python" -m compileall -q -j 0 -x '/tests/' "$place/lib"
"$place/bin/campaign" --version
echo "installed: $place/bin/campaign"
