import Foundation
import struct SwiftUI.Color
@testable import Shapes

public let limit = 10
private var hidden = 1, other = 2
public typealias Pair = (Int, Int)

public protocol Shape {
    associatedtype Unit
    var sides: Int { get }
    func area() -> Double
}
open class Point: Base, Shape {
    public static let origin = 0
    var x: Int = 0
    var double: Int { return x * 2 }
    public init(x: Int) { let local = 1; self.x = x }
    deinit {}
    func area() -> Double { func inner() {}; return 0 }
    subscript(i: Int) -> Int { return i }
    class func make() {}
}
struct Size { let w: Int, h: Int }
enum Color: String { case red, green = "g"; case blue(Int); func shade() {} }
extension Point { func extended() {} }
actor Worker { func run() {} }
func free<T>(_ a: T) -> T { return a }
infix operator +++
