package com.example.shapes

import java.util.List
import kotlin.math.max as biggest
import com.example.*

const val LIMIT = 10
val top: Int = 1
private var hidden = 2
typealias Pair2 = Pair<Int, Int>

interface Shape { val sides: Int; fun area(): Double }
open class Point(val x: Int, private var y: Int = 0, plain: Int) : Shape {
    constructor(x: Int) : this(x, 0)
    var name: String = "class Fake"
    override fun area(): Double { val local = 1; fun inner() {}; return 0.0 }
    companion object { const val ORIGIN = 0; fun make() = Point(1) }
    inner class Deep
}
data class Pair3(val left: Int, val right: Int)
enum class Color(val code: Int) { RED(1), GREEN(2); fun shade() {} }
object Registry { fun register() {} }
sealed interface Result
annotation class Marker
fun String.shout(): String = this.uppercase()
fun main() {}

/** Waits. */
@Deprecated("no")
suspend fun pause(ms: Long) {}
