#!/bin/sh
# Says what this machine lacks to run sparkcep, and how to get it: Python 3.10+, venv, Java 17+.
# Usage: scripts/check_machine.sh PYTHON
python=${1:-python3}
missing=0

complain() {
    echo "sparkcep: $1" >&2
    echo "          $2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    complain "there is no '$python'; Python 3.10 or newer is needed." \
        "Debian: apt install python3 python3-venv · macOS: brew install python · or: make PYTHON=/path/to/python3 …"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    complain "Python 3.10 or newer is needed, found $("$python" --version 2>&1)." \
        "Name a newer one: make PYTHON=/path/to/python3.12 …"
elif ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    complain "this Python cannot make virtual environments." "Debian: apt install python3-venv"
fi

if [ -n "${JAVA_HOME:-}" ]; then java="$JAVA_HOME/bin/java"; else java=java; fi
install="Debian: apt install openjdk-17-jre-headless · Fedora: dnf install java-17-openjdk-headless · macOS: brew install openjdk@17"
if ! command -v "$java" >/dev/null 2>&1; then
    complain "there is no Java (looked for $java); Spark needs Java 17 or newer." "$install"
else
    version=$("$java" -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1)
    if [ "${version:-0}" -lt 17 ]; then
        complain "Spark needs Java 17 or newer, found $java: $("$java" -version 2>&1 | head -n 1)." "$install"
    fi
fi
exit $missing
