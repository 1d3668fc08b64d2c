import pytest

# So that what the contract asserts is told with its values, as in a test.
pytest.register_assert_rewrite(f"{__name__}.contract")
