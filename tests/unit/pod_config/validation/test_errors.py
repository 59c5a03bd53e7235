from actors.pod_config.validation.errors import MAX_ERRORS, MAX_TEXT, FieldError, ManifestError


def test_the_texts_of_an_error_are_bounded():
    error = ManifestError(FieldError("k" * 10**6, "unknown field") for _ in range(1000))
    assert len(error.texts()) == MAX_ERRORS + 1
    assert sum(map(len, error.texts())) <= (MAX_ERRORS + 1) * MAX_TEXT
