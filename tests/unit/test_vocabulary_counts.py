from facetvec.vocabulary.counts import WordCounts, choose_words, encode_words


def test_words_are_chosen_by_count_then_by_their_characters() -> None:
    counts = {"b": 3, "a": 3, "c": 9, "d": 1}
    assert choose_words(counts, min_count=2, max_vocabulary=None) == ["c", "a", "b"]
    assert choose_words(counts, min_count=1, max_vocabulary=2) == ["c", "a"]


def test_a_rare_compound_counts_for_its_parts() -> None:
    counts = {"x-ray": 1, "ray": 1, "km/h": 2}
    assert choose_words(counts, min_count=2, max_vocabulary=None) == ["km/h", "ray"]


def test_special_words_in_the_text_are_no_words() -> None:
    assert choose_words({"<eos>": 9, "a": 9, "<unk>": 9}, min_count=1, max_vocabulary=None) == ["a"]


def test_counts_add_up_over_blocks() -> None:
    counts = WordCounts()
    counts.add(["a", "b"], [2, 1])
    counts.add(["b", "c"], [4, 1])
    assert counts == {"a": 2, "b": 5, "c": 1}


def test_too_many_distinct_words_make_the_rarest_go() -> None:
    counts = WordCounts(max_distinct=3)
    counts.add(["a", "b", "c"], [3, 1, 2])
    counts.add(["d"], [2])
    assert counts == {"a": 3, "c": 2, "d": 2}


def test_words_are_looked_up_with_fallback_to_parts() -> None:
    ids = {"x": 3, "-": 4, "x-ray": 5}
    flat, num_ids = encode_words(["x-ray", "new", "x-new", "x", "<eos>", "www.x-y.org"], ids)
    assert flat.tolist() == [5, 1, 3, 4, 1, 3, 1, 1]
    assert num_ids.tolist() == [1, 1, 3, 1, 1, 1]
