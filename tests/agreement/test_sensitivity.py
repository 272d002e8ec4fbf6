"""Without the option ``sensitivity`` a report lacks other thresholds and rules, and has the same numbers otherwise."""

from __future__ import annotations

from tests.agreement.agreement_oracle import config_of, random_samples, report_of


def test_without_sensitivity_the_report_has_the_same_numbers_and_no_others() -> None:
    samples = random_samples(3, n_samples=12)
    with_it, without = (report_of(samples, config_of(3, sensitivity=given)) for given in (True, False))
    assert with_it.thresholds
    assert with_it.rules
    assert with_it.data_threshold is not None
    assert without.thresholds == []
    assert without.rules == []
    assert without.data_threshold is None
    left_out = {"thresholds", "rules", "data_threshold", "config"}
    values, others = with_it.to_dict(), without.to_dict()
    assert {name: values[name] for name in values if name not in left_out} == {
        name: others[name] for name in others if name not in left_out
    }
