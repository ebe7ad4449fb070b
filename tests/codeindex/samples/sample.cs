using System;
using System.Collections.Generic;
using Text = System.Text;
using static System.Math;

namespace Example.Shapes
{
    public interface IShape { double Area(); int Sides { get; } }
    public abstract class Shape<T> : Base, IShape
    {
        public const int Limit = 10;
        private int width, height;
        public string Name { get; set; } = "class Fake {}";
        public event EventHandler Changed;
        public delegate void Handler(int x);
        public Shape(int width) { int local = 1; void Inner() {} }
        ~Shape() { }
        public abstract double Area();
        public int this[int i] => i;
        public static Shape<T> operator +(Shape<T> a, Shape<T> b) => a;
        protected internal void Move() { }
    }
    public enum Color { Red, Green = 2 }
    internal struct Point { public int X; }
    public record Person(string First, string Last);
    public record struct Size(int W);
    namespace Deep { class Hidden { } }
}
