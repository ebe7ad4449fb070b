package shapes

import (
	"fmt"
	str "strings"
	_ "embed"
	. "math"
)
import "os"

const Limit, hidden = 10, 20
const (
	First = iota
	second
)

var Count int
var a, B = 1, 2

type Shape interface {
	Area() float64
	fmt.Stringer
}
type Point struct {
	X, Y int
	name string
	Embedded
}
type ID = string
type Number int
type List[T any] struct{ items []T }

func New(x int) *Point { local := 1; var other int; _ = local; _ = other; return nil }
func (p *Point) Move(dx int) { helper := func() {}; helper() }
func (l List[T]) len() int { return 0 }
func init() {}

// Grow makes it
// larger.
//
// Much larger.
func Grow(by int) int {
	return by
}
