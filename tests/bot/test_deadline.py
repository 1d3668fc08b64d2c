import threading
import time

import pytest

from tertulia.bot.deadline import BusyError, DeadlineRunner, LateError


def test_the_value_or_the_exception_of_the_call_comes_back() -> None:
    runner = DeadlineRunner("t")
    assert runner.call(lambda: 6 * 7, 1000) == 42
    with pytest.raises(ZeroDivisionError):
        runner.call(lambda: 1 / 0, 1000)
    runner.close()


def test_a_call_that_hangs_costs_its_deadline_and_no_more() -> None:
    runner, release = DeadlineRunner("t"), threading.Event()
    began = time.monotonic()
    with pytest.raises(LateError):
        runner.call(lambda: release.wait(20), 50)
    assert time.monotonic() - began < 5
    assert runner.call(lambda: "still serving", 1000) == "still serving"
    release.set()
    runner.close()


def test_too_many_stuck_calls_are_not_joined_by_more_until_they_end() -> None:
    runner, release = DeadlineRunner("t", most=3), threading.Event()
    for _ in range(3):
        with pytest.raises(LateError):
            runner.call(lambda: release.wait(20), 10)
    with pytest.raises(BusyError, match="3 earlier calls have not ended"):
        runner.call(lambda: 1, 1000)
    release.set()
    for _ in range(200):
        try:
            assert runner.call(lambda: 1, 1000) == 1
            break
        except BusyError:
            time.sleep(0.02)
    else:
        pytest.fail("the runner did not recover")
    runner.close()


def test_many_threads_share_a_runner() -> None:
    runner = DeadlineRunner("t")
    results: list[int] = []

    def work(start: int) -> None:
        results.extend(runner.call(lambda value=value: value, 5000) for value in range(start, start + 100))

    threads = [threading.Thread(target=work, args=(1000 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == sorted(1000 * n + k for n in range(8) for k in range(100))
    runner.close()
