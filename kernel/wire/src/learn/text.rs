//! Text: documents as counts of terms. Their outputs are sparse.

/// Calls `$then!` with the entries of this family.
#[macro_export]
macro_rules! text_estimators {
    ($then:ident) => {
        $then! {
            /// Counts the terms of documents: a column of strings becomes a sparse column for each term.
            CountVectorizer: Transformer [text] {
                /// Removal of accents: `unicode` decomposes all characters (NFKD) and drops their marks, `ascii` also
                /// drops what is not ASCII then. None: accents stay.
                strip_accents: Str = None, OneOf(&["ascii", "unicode"]);
                /// Whether documents are converted to lower case first.
                lowercase: Bool = true, Any;
                /// Words that are left out: `english`, or a list. Only for `analyzer` = `word`.
                stop_words: Any = None, Any;
                /// Regular expression of a word. With a group, the group is the word.
                token_pattern: Str = r"(?u)\b\w\w+\b", Any;
                /// The shortest and the longest sequence of words or characters that is a term.
                ngram_range: Any = [1, 1], AtLeast(1.0);
                /// Terms are made of words, of characters, or of characters inside of words (`char_wb`).
                analyzer: Str = "word", OneOf(&["word", "char", "char_wb"]);
                /// Terms in more documents are left out: a count, or a share of the documents as a float.
                max_df: Any = 1.0, AtLeast(0.0);
                /// Terms in fewer documents are left out: a count, or a share of the documents as a float.
                min_df: Any = 1, AtLeast(0.0);
                /// The number of terms that are kept, by their counts in all documents.
                max_features: Int = None, AtLeast(1.0);
                /// The terms as a list, in the order of their columns. None: those of the training, sorted.
                vocabulary: Any = None, Any;
                /// Whether each count above 0 becomes 1.
                binary: Bool = false, Any;
            } -> { vocabulary: Frame }

            /// Weights the terms of documents by their rarity (tf-idf): `CountVectorizer`, then `TfidfTransformer`.
            TfidfVectorizer: Transformer [text] {
                /// Removal of accents: `unicode` decomposes all characters (NFKD) and drops their marks, `ascii` also
                /// drops what is not ASCII then. None: accents stay.
                strip_accents: Str = None, OneOf(&["ascii", "unicode"]);
                /// Whether documents are converted to lower case first.
                lowercase: Bool = true, Any;
                /// Terms are made of words, of characters, or of characters inside of words (`char_wb`).
                analyzer: Str = "word", OneOf(&["word", "char", "char_wb"]);
                /// Words that are left out: `english`, or a list. Only for `analyzer` = `word`.
                stop_words: Any = None, Any;
                /// Regular expression of a word. With a group, the group is the word.
                token_pattern: Str = r"(?u)\b\w\w+\b", Any;
                /// The shortest and the longest sequence of words or characters that is a term.
                ngram_range: Any = [1, 1], AtLeast(1.0);
                /// Terms in more documents are left out: a count, or a share of the documents as a float.
                max_df: Any = 1.0, AtLeast(0.0);
                /// Terms in fewer documents are left out: a count, or a share of the documents as a float.
                min_df: Any = 1, AtLeast(0.0);
                /// The number of terms that are kept, by their counts in all documents.
                max_features: Int = None, AtLeast(1.0);
                /// The terms as a list, in the order of their columns. None: those of the training, sorted.
                vocabulary: Any = None, Any;
                /// Whether each count above 0 becomes 1.
                binary: Bool = false, Any;
                /// The norm that each document is divided by.
                norm: Str = "l2", OneOf(&["l1", "l2", "none"]);
                /// Whether counts are multiplied by the inverse document frequency of their term.
                use_idf: Bool = true, Any;
                /// Whether document frequencies count one more document that has all terms.
                smooth_idf: Bool = true, Any;
                /// Whether a count is replaced by 1 plus its logarithm.
                sublinear_tf: Bool = false, Any;
            } -> { vocabulary: Frame, idf: Frame }

            /// Weights counts of terms by their rarity (tf-idf), sparse ones or columns of numbers.
            TfidfTransformer: Transformer [sparse] {
                /// The norm that each row is divided by.
                norm: Str = "l2", OneOf(&["l1", "l2", "none"]);
                /// Whether counts are multiplied by the inverse document frequency of their term.
                use_idf: Bool = true, Any;
                /// Whether document frequencies count one more document that has all terms.
                smooth_idf: Bool = true, Any;
                /// Whether a count is replaced by 1 plus its logarithm.
                sublinear_tf: Bool = false, Any;
            } -> { idf: Frame }

            /// Counts the terms of documents in columns that a hash of the term chooses (MurmurHash3). It stores no
            /// vocabulary.
            HashingVectorizer: Transformer [text] {
                /// Removal of accents: `unicode` decomposes all characters (NFKD) and drops their marks, `ascii` also
                /// drops what is not ASCII then. None: accents stay.
                strip_accents: Str = None, OneOf(&["ascii", "unicode"]);
                /// Whether documents are converted to lower case first.
                lowercase: Bool = true, Any;
                /// Words that are left out: `english`, or a list. Only for `analyzer` = `word`.
                stop_words: Any = None, Any;
                /// Regular expression of a word. With a group, the group is the word.
                token_pattern: Str = r"(?u)\b\w\w+\b", Any;
                /// The shortest and the longest sequence of words or characters that is a term.
                ngram_range: Any = [1, 1], AtLeast(1.0);
                /// Terms are made of words, of characters, or of characters inside of words (`char_wb`).
                analyzer: Str = "word", OneOf(&["word", "char", "char_wb"]);
                /// The number of columns.
                n_features: Int = 1_048_576, Within(1.0, 16777216.0);
                /// Whether each sum of counts becomes 1.
                binary: Bool = false, Any;
                /// The norm that each document is divided by.
                norm: Str = "l2", OneOf(&["l1", "l2", "none"]);
                /// Whether a bit of the hash chooses the sign of a count, so that collisions cancel out on average.
                alternate_sign: Bool = true, Any;
            } -> {}
        }
    };
}
