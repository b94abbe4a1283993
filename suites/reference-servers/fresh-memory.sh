#!/bin/sh
# Starts the memory server on a file of its own, so that no trial remembers what
# another one did, and takes the file away when the server has ended.
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
trap 'exit 143' TERM
MEMORY_FILE_PATH=$dir/memory.jsonl node_modules/.bin/mcp-server-memory
