//! A module.
use std::collections::{HashMap, hash_map::{self, Entry as MapEntry}};
use crate::util::*;
pub use self::inner::Thing;
extern crate alloc;
mod outer;

/// Greets.
pub const LIMIT: usize = 10;
static mut COUNTER: u32 = 0;
pub type Alias<T> = Vec<T>;

#[derive(Debug)]
pub struct Point {
    pub x: i32,
    y: i32,
}
struct Unit;
pub struct Tuple(pub i32, String);
pub enum Shape {
    Circle(f64),
    Square { side: f64 },
    Empty,
}
union Bits { a: u32, b: f32 }

pub trait Area: Sized {
    const SIDES: u32;
    type Output;
    fn area(&self) -> f64;
    fn name(&self) -> String { String::new() }
}
impl Point {
    pub const ORIGIN: Point = Point { x: 0, y: 0 };
    pub fn new() -> Self { fn helper() {} let x = 1; Point { x, y: 0 } }
    pub(crate) async fn shift<'a>(&'a self) {}
}
impl<T> Area for Tuple where T: Copy {
    type Output = f64;
    fn area(&self) -> f64 { 0.0 }
}
pub mod inner {
    pub struct Thing;
    pub(super) fn deep() {}
}
#[macro_export]
macro_rules! square {
    ($x:expr) => { $x * $x };
}
pub fn main() { let s = r#"fn fake() {}"#; /* outer /* inner */ fn no() {} */ }
extern "C" { fn strlen(s: *const u8) -> usize; }
