#!/usr/bin/env bash
# Ubuntu 22.04's own Python is too old for this engine.
set -e
apt-get update
apt-get install -y software-properties-common
add-apt-repository -y ppa:deadsnakes/ppa
apt-get install -y python3.11 python3.11-venv
python3.11 -m venv /autograder/venv
/autograder/venv/bin/pip install -r /autograder/source/requirements.txt
