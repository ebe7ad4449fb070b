require "json"
require_relative "local/helper"
load "script.rb"
autoload :Lazy, "lazy"

module Shapes
  LIMIT = 10
  class Point < Base
    include Comparable
    attr_accessor :x, :y
    attr_reader "name"
    VERSION = "1"
    @@count = 0
    def initialize(x)
      @x = x
      local = 1
    end

    def self.origin = new(0)
    def <=>(other) = 0
    def empty?; end
    def name=(value); end
    class << self
      def build; end
    end
    private

    def hidden; end
    define_method(:dynamic) { |a| a }
    alias_method :other, :hidden
    alias third hidden
  end
  module_function
  def helper; end
end
class Shapes::Circle; end
Pair = Struct.new(:left, :right)
$global = 1
def top_level(a) = <<~TEXT
  def fake; end
TEXT
