//! Monomorphizations of the standard library's collections for common types, compiled once with the prelude.
//!
//! rustc compiles a generic function in every crate that uses it, unless a linked crate has the instance already. The
//! level of optimisation must share instances, as that of cells does. Functions that take a closure are never shared.
//! No code here is called.

#![expect(
    clippy::iter_cloned_collect,
    clippy::drain_collect,
    reason = "what cells write is compiled, not what is best"
)]

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;
use std::hint::black_box;

use crate::host::Store;

/// The usual places of a variable: the store, the names of the cell, and a `Debug` string.
fn variable<T: Debug + 'static>(store: &mut Store) {
    if let Ok(value) = store.take::<T>("") {
        crate::__bind!("", &value);
        black_box((&value as &dyn Debug, &&value as &dyn Debug));
        store.put("", value);
    }
}

fn list<T: Clone + PartialEq + Debug + 'static>(store: &mut Store, item: T) {
    variable::<Vec<T>>(store);
    let mut v: Vec<T> = vec![item.clone(); 3];
    v.push(item.clone());
    v.insert(0, item.clone());
    v.extend_from_slice(&v.clone());
    v.extend(v.clone());
    v.extend([item.clone(), item.clone()]);
    v.resize(3, item.clone());
    v.truncate(2);
    v.reserve(1);
    v.dedup();
    black_box(v.split_off(1));
    black_box(v.drain(..).collect::<Vec<T>>());
    black_box((v.remove(0), v.swap_remove(0), v.pop(), v.contains(&item), v == v.clone(), v.concat_with(&item)));
    black_box(v.iter().cloned().collect::<Vec<T>>());
    black_box(v.iter().collect::<Vec<&T>>());
    black_box(v.clone().into_iter().rev().collect::<Vec<T>>());
    black_box([&item, &item].into_iter().cloned().collect::<Vec<T>>());
    black_box((&v.first() as &dyn Debug, &Some(item) as &dyn Debug, &v.as_slice() as &dyn Debug));
}

trait ConcatWith<T> {
    fn concat_with(&self, item: &T) -> Vec<T>;
}

impl<T: Clone> ConcatWith<T> for Vec<T> {
    fn concat_with(&self, item: &T) -> Vec<T> {
        [self.as_slice(), std::slice::from_ref(item)].concat()
    }
}

fn queue<T: Clone + Debug + 'static>(item: T) {
    let mut q: VecDeque<T> = VecDeque::from(vec![item.clone()]);
    q.push_back(item.clone());
    q.push_front(item);
    black_box((q.pop_front(), q.pop_back(), &q as &dyn Debug));
    black_box(q.iter().cloned().collect::<VecDeque<T>>());
}

fn ordered<T: Clone + Ord + Debug + 'static>(item: T) {
    let mut v = vec![item.clone()];
    v.sort();
    v.sort_unstable();
    black_box((v.iter().max(), v.iter().min(), v.binary_search(&item).is_ok()));
    let mut s: BTreeSet<T> = v.iter().cloned().collect();
    s.insert(item.clone());
    s.remove(&item);
    black_box((s.contains(&item), &s as &dyn Debug));
    black_box(s.into_iter().collect::<Vec<T>>());
    let mut h = BinaryHeap::from(v);
    h.push(item);
    black_box(h.pop());
}

fn hashed<T: Clone + Hash + Eq + Debug + 'static>(store: &mut Store, item: T) {
    variable::<HashSet<T>>(store);
    let mut s: HashSet<T> = HashSet::new();
    s.insert(item.clone());
    s.remove(&item);
    s.extend(s.clone());
    black_box(s.contains(&item));
    black_box(vec![item].into_iter().collect::<HashSet<T>>());
    black_box(s.into_iter().collect::<Vec<T>>());
}

fn tree<K: Clone + Ord + Debug + 'static, V: Clone + PartialEq + Debug + 'static>(store: &mut Store, key: K, value: V) {
    variable::<BTreeMap<K, V>>(store);
    let mut m: BTreeMap<K, V> = BTreeMap::new();
    m.insert(key.clone(), value.clone());
    *m.entry(key.clone()).or_insert(value.clone()) = value.clone();
    black_box((m.get(&key), m.contains_key(&key)));
    black_box(m.get_mut(&key));
    black_box(m.iter().last());
    black_box(vec![(key, value)].into_iter().collect::<BTreeMap<K, V>>());
    black_box((m.clone().into_iter().collect::<Vec<(K, V)>>(), m));
}

fn map<K: Clone + Hash + Eq + Debug + 'static, V: Clone + PartialEq + Debug + 'static>(
    store: &mut Store,
    key: K,
    value: V,
) {
    variable::<HashMap<K, V>>(store);
    let mut m: HashMap<K, V> = HashMap::new();
    m.insert(key.clone(), value.clone());
    *m.entry(key.clone()).or_insert(value.clone()) = value.clone();
    m.remove(&key);
    black_box((m.get(&key), m.contains_key(&key)));
    black_box(m.get_mut(&key));
    black_box(m.iter().last());
    black_box(vec![(key, value)].into_iter().collect::<HashMap<K, V>>());
    black_box((m.clone().into_iter().collect::<Vec<(K, V)>>(), m));
}

macro_rules! instances {
    (numbers: $($number:ty)*; texts: $($text:ty)*; others: $($other:ty)*) => {
        pub fn instances(store: &mut Store) {
            $(variable::<$number>(store); list(store, <$number>::default());)*
            $(variable::<$text>(store); list(store, <$text>::default());)*
            $(variable::<$other>(store); list(store, <$other>::default());)*
            $(queue(<$number>::default()); ordered(<$number>::default()); hashed(store, <$number>::default());)*
            $(queue(<$text>::default()); ordered(<$text>::default()); hashed(store, <$text>::default());)*
            $(maps(store, <$number>::default()); counts(store, <$number>::default());)*
            $(maps(store, <$text>::default()); counts(store, <$text>::default());)*
            $(trees(store, <$text>::default());)*
        }

        fn counts<K: Clone + Hash + Eq + Debug + 'static>(store: &mut Store, key: K) {
            $(map(store, key.clone(), <$number>::default());)*
        }

        fn trees<K: Clone + Ord + Debug + 'static>(store: &mut Store, key: K) {
            $(tree(store, key.clone(), <$number>::default());)*
        }
    };
}

fn maps<K: Clone + Hash + Ord + Debug + 'static>(store: &mut Store, key: K) {
    tree(store, key.clone(), 0.0);
    map(store, key.clone(), 0.0);
    tree(store, key.clone(), String::new());
    map(store, key, String::new());
}

instances! {
    numbers: i32 i64 u64 usize;
    texts: String &'static str char;
    others: f64 f32 bool u8 u32 Vec<i32> Vec<i64> Vec<f64> Vec<String>
}
