# Part of ./run: the stages of `check`.
# shellcheck shell=bash
# Each runs in a process of its own (./run _stage NAME), all of them run even if one fails, and the last
# line counts them.

# NAME:SECONDS, in this order; a stage that takes longer is stopped and has failed. Their sum is a
# ceiling for a machine that hangs, not the plan: the plan is 35 minutes on two cores.
CHECK_STAGES=(format:120 scripts:60 commits:60 build:1500 style:300 tidy:900 asan:2100 tsan:1500 fuzz:1500 drills:900)

cmd_check() {
    local from=$SECONDS stage name limit left began verdict passed=0 failed=0 skipped=0 table=()
    # A build machine that must be done by a time gives a budget: what does not fit in it is left out and
    # counted as skipped, never as passed.
    local budget=${TG_CHECK_BUDGET_SECONDS:-100000}
    timed "setup: Debian packages" install_packages tools/packages.txt tools/packages-check.txt
    timed "setup: Python environment .venv" install_python
    for stage in "${CHECK_STAGES[@]}"; do
        name=${stage%%:*}
        limit=${stage##*:}
        began=$SECONDS
        left=$((budget - (SECONDS - from)))
        say "check: $name"
        if [ "$left" -lt 30 ]; then
            verdict=skipped
            skipped=$((skipped + 1))
        elif timeout --kill-after=20 "$((left < limit ? left : limit))" bash "$ROOT/run" _stage "$name" </dev/null; then
            verdict=ok
            passed=$((passed + 1))
        elif [ "$left" -lt "$limit" ] && [ $((SECONDS - began)) -ge "$left" ]; then
            verdict=skipped # cut off by the budget, not by its own limit
            skipped=$((skipped + 1))
        else
            verdict=FAILED
            failed=$((failed + 1))
        fi
        table+=("$(printf '%-8s %-7s %s' "$name" "$verdict" "$(minutes $((SECONDS - began)))")")
        note "${table[-1]}"
    done
    say "check: $(minutes $((SECONDS - from)))"
    printf '   %s\n' "${table[@]}"
    printf '\nchecks: %d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped" | tee "$LOGS/check.log"
    [ "$failed" -eq 0 ]
}

stage_format() {
    cxx_files | xargs -0 -r clang-format-14 --dry-run -Werror
    echo "format: $(cxx_files | tr -cd '\0' | wc -c) files"
}

stage_scripts() {
    shellcheck run .ci/run tools/*.sh tools/run.d/*.sh
    python3 -c 'import ast, sys; [ast.parse(open(name).read(), name) for name in sys.argv[1:]]' \
        tools/*.py tools/selftest/*.py
    echo "scripts: clean"
}

# The messages of the change; in a fresh clone, of the last 20 commits.
stage_commits() {
    local base
    base=$(python3 tools/changed_files.py . --base)
    python3 tools/check_commits.py . "${base:+$base..}HEAD"
}

stage_build() { build_tree release; }

# The style, layer, path and ISA-object checks with their self-tests; ctests of the release tree.
stage_style() {
    ctest --test-dir "$RELEASE" -L style -j "$(jobs)" --no-tests=error --output-on-failure
}

stage_tidy() {
    python3 tools/changed_files.py . |
        python3 tools/run_tidy.py "$RELEASE" --seconds "${TG_TIDY_SECONDS:-420}" --jobs "$(jobs)"
}

stage_asan() {
    build_tree asan unit_tests
    # detect_container_overflow: false alarms for containers that uninstrumented Debian libraries fill.
    ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_container_overflow=0 \
        UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 \
        ctest --test-dir build/asan -L 'unit|golden' -j "$(jobs)" --no-tests=error --output-on-failure --timeout 600
}

stage_tsan() {
    build_tree tsan tsan_tests
    # The sanitizer of g++ 12 wants the old address layout; a kernel with more random bits stops it.
    local wrap=()
    if setarch -R true 2>/dev/null; then
        wrap=(setarch -R)
    fi
    TSAN_OPTIONS=suppressions=$ROOT/tools/tsan.supp:halt_on_error=1:second_deadlock_stack=1 \
        "${wrap[@]}" ctest --test-dir build/tsan -R '^(base|decision|store|engine|pipeline)$' -j "$(jobs)" \
        --no-tests=error --output-on-failure --timeout 900
}

stage_fuzz() {
    build_tree fuzz fuzzers
    python3 tools/run_fuzz.py build/fuzz/fuzzers tests/fuzz_corpus build/fuzz-work \
        --seconds "${TG_FUZZ_SECONDS:-20}" --jobs "$(jobs)"
}

# Failure drills against the built binary: pytest files (test_*.py) together, other scripts one by one.
stage_drills() {
    local script
    if compgen -G 'tests/drills/test_*.py' >/dev/null; then
        TOLLGATE_BIN=$RELEASE/tollgate .venv/bin/python -m pytest -q -p no:cacheprovider tests/drills
    fi
    for script in tests/drills/*.py; do
        case $(basename "$script") in
            '*.py')
                echo "drills: none yet"
                ;;
            test_* | conftest.py | _*) ;;
            *)
                echo "drill: $script"
                TOLLGATE_BIN=$RELEASE/tollgate .venv/bin/python "$script"
                ;;
        esac
    done
}
