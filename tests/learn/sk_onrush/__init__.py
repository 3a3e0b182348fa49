"""scikit-learn's estimators with Onrush's algorithms, for scikit-learn's own tests.

`pytest -p sk_onrush.plugin --pyargs sklearn.linear_model` patches the methods of scikit-learn's classes. The folder
above is put on `PYTHONPATH`; `ONRUSH_LEARN_CHECK` names the binary `onrush-learn-check`.
"""
