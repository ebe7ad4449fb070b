<?php
namespace App\Shapes;

use App\Base;
use App\{First, Second as Two};
use function App\helper;
use const App\LIMIT as TOP;
require_once 'lib/local.php';
include __DIR__ . '/other.php';

const VERSION = '1', BUILD = 2;
define('GLOBAL_LIMIT', 10);

interface Shape { const SIDES = 1; public function area(): float; }
trait Named { private string $name = 'class Fake {}'; public function name() { return $this->name; } }
abstract class Point extends Base implements Shape
{
    use Named;
    public const ORIGIN = 0;
    protected static ?int $count = 0, $other;
    public function __construct(private int $x, public readonly int $y = 0) { $local = 1; }
    public static function make(): static { function inner() {} return new static(1); }
    abstract protected function hidden();
}
enum Suit: string { case Hearts = 'H'; case Spades = 'S'; public function label() {} }
function helper(int $a) { $f = fn($x) => $x; return $a; }
