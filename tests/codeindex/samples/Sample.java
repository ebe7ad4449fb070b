package com.example.shapes;

import java.util.List;
import java.util.*;
import static java.lang.Math.max;

/** A shape. */
public abstract class Sample<T> extends Base implements Comparable<T> {
    public static final int LIMIT = 10, OTHER = 11;
    private int width;
    protected String name = "class Fake {}";

    public Sample(int width) { int local = 1; this.width = width; }
    @Override
    public int compareTo(T other) { return 0; }
    abstract void area();
    static class Inner { void deep() {} }
    interface Visitor { int VALUE = 1; void visit(); }
}
enum Color { RED, GREEN(1) { void paint() {} }; private int code; Color() {} void shade() {} }
record Pair(int left, int right) { Pair { } int sum() { return left + right; } }
@interface Marker { String value() default ""; }
