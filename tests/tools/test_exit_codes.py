"""Exit codes of commands that are the answer of a test or a search."""

import pytest

from callgate.tools.commands.exit_codes import is_answer
from callgate.words.calls import NO_CASCADE
from tests.tools.bash_kit import Shell, shell

__all__ = ["shell"]

ANSWERS = """\
pytest
pytest -x tests/test_a.py::test_b
python -m pytest -q
python3 -m unittest discover
uv run pytest -q 2>&1 | tail -20
cd sub && pytest > log.txt
source .venv/bin/activate && pytest
timeout 60 cargo test --all
cargo clippy -- -D warnings
env CI=1 npm test
npm run test:unit
npm run lint
yarn run typecheck
pnpm test
npx jest src
bunx vitest run
make check
make -j4 test
just test-all
go test ./...
go vet ./...
./gradlew test
mvn -q verify
dotnet test
ruff check .
ruff format --check .
black --check src
prettier --check .
npx tsc --noEmit
mypy src && ruff check src
bash -c "pytest -x"
bash scripts/test.sh
./run_tests.sh
bin/test
python tests/test_parser.py
python manage.py test
php artisan test
node --test
ctest --output-on-failure
bundle exec rspec
pipx run tox
conda run -n dev pytest
docker compose run app pytest
make -C sub test
npm --prefix web test
cargo +nightly test
pytest | tee out.txt
if pytest; then echo fine; fi
pytest; echo done
export A=b; pytest
grep x f | wc -l
rg --glob '*.py' x
/usr/bin/grep x f
find . -name x
cat missing.txt
ls missing
git diff --exit-code
git log missing
grep "$x" f
""".splitlines()

FAILURES = """\
mkdir build
mkdir test
rm -r tests
make
make build test
npm run build
npm install
cargo build
go build ./...
pip install -e . && pytest
pytest && git push
git checkout test
cp a tests/b
touch check
python setup.py install
python -c 'import tests'
node build.js
echo x > f
cat a > b
find . -name x -exec rm {} \\;
find . -name x -delete
xargs rm < list
./deploy.sh
bash -c "mkdir a"
git commit -m test
sed -i s/a/b/ tests/a.py
unknown-program
echo failed; exit 1
docker run alpine rm -rf /data
bundle exec rake db:migrate
""".splitlines()


@pytest.mark.spec("EXE-15")
def test_an_exit_code_of_a_command_that_only_tests_or_searches_is_an_answer() -> None:
    assert [each for each in ANSWERS if not is_answer(each, 1)] == []


@pytest.mark.spec("EXE-15")
def test_an_exit_code_of_a_command_that_may_change_something_is_a_failure() -> None:
    assert [each for each in FAILURES if is_answer(each, 1)] == []


@pytest.mark.spec("EXE-15")
def test_a_test_that_a_signal_ended_gave_no_answer() -> None:
    assert [is_answer("pytest", code) for code in (1, 5, 127, 128, 137, 0, -9)] == [True] * 4 + [False] * 3


@pytest.mark.spec("EXE-15")
def test_the_result_of_a_failing_test_cancels_nothing(shell: Shell) -> None:
    (shell.host.root / "test.sh").write_text("echo 1 failed; exit 3")
    assert shell("sh ./test.sh").details.get(NO_CASCADE) is True
    assert shell("cat missing").details.get(NO_CASCADE) is True
    assert NO_CASCADE not in shell("mkdir sub/a/b").details
