"""A little of every language the engine knows, with something to look for in it and something to put there."""

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Sample:
    """``id`` is stable; ``matches`` is how often the pattern is found, the nested ones included."""

    language: str
    ending: str
    pattern: str
    rewrite: str
    matches: int
    source: str
    name: str = ""

    @property
    def id(self) -> str:
        return f"{self.language}-{self.name or 'plain'}"


def _sample(language: str, ending: str, pattern: str, rewrite: str, matches: int, text: str, name: str = "") -> Sample:
    return Sample(language, ending, pattern, rewrite, matches, dedent(text).removeprefix("\n"), name)


_PYTHON = """
    import os

    class Store:
        def load(self, path, *, strict=False):
            value = fetch(
                path,
                [
                    1,
                    2,
                ],
            )
            if strict:
                print(value, fetch(path, None))
            return fetch(fetch(path, "ä"), 'ö€𝒳')  # fetch(1, 2)

    def fetch(a, b): return {'a': a, "b": b}
"""

_JAVASCRIPT = """
    // with a semicolon, without one
    var a = 1;
    var b = load("x")
    function go(items) {
      if (items && items.length) {
        console.log('n', items.map((item) => {
          return item.name;
        }));
      }
      var c = load(
        items,
          {
            deep: true,
          }
      ), d = 2;
      return load(load(1), load(2));
    }
"""

_TYPESCRIPT = """
    interface Shape { area(): number; }
    export class Square implements Shape {
      constructor(private side: number) {}
      area(): number { return multiply(this.side, this.side) as number; }
    }
    const wide: Array<string> = multiply<string>(["a"],   ["b"]);
    multiply( 1, 2 );
"""

SAMPLES = (
    _sample("bash", "sh", "echo $A", "printf $A", 2, """
        #!/bin/sh
        for name in a b; do
            echo "$name"
            if test -n "$name"; then echo $name; fi
        done
    """),
    _sample("c", "c", "free($P);", "release(&$P);", 2, """
        #include <stdlib.h>
        int main(void) {
            char *p = malloc(10); /* ten */
            if (!p) return 1;
            free(p);
            free(
                p + 1);
            return 0;
        }
    """),
    _sample("cpp", "cpp", "return std::move($X);", "return std::forward<T>($X);", 1, """
        #include <utility>
        template <class T> struct Box {
            T value;
            explicit Box(T v) : value(std::move(v)) {}
            T take() { return std::move(value); }
        };
    """),
    _sample("csharp", "cs", "Console.WriteLine($$$A)", "Log.Info($$$A)", 2, """
        class Program {
            static void Main(string[] args) {
                Console.WriteLine("a");
                Console.WriteLine("{0} {1}", args[0],
                    args.Length);
            }
        }
    """),
    _sample("css", "css", "color: $C;", "background-color: $C;", 2, """
        a { color: red; }
        .box > p:hover { color: #fff; margin: 0 }
    """),
    _sample("dart", "dart", "class $N { $$$B }", "abstract class $N { $$$B }", 1, """
        class Box {
          final String name = 'x';
        }
        void main() {}
    """),
    _sample("elixir", "ex", "IO.puts($A)", "Logger.info($A)", 2, """
        defmodule Hello do
          def say(name) do
            IO.puts("hello " <> name)
            IO.puts(name)
          end
        end
    """),
    _sample("go", "go", "if $C { $$$B }", "for $C {\n  $$$B\n}", 1, """
        package main

        import "fmt"

        func main() {
        \tfmt.Println("a", 1)
        \tif true {
        \t\tfmt.Println(
        \t\t\t"b",
        \t\t)
        \t}
        }
    """),
    _sample("haskell", "hs", "putStrLn $A", "hPutStrLn stderr $A", 2, """
        main :: IO ()
        main = do
          putStrLn "a"
          putStrLn (show 1)
    """),
    _sample("hcl", "tf", "count = $N", "for_each = $N", 1, """
        resource "thing" "one" {
          count = 3
          name  = "x"
        }
    """),
    _sample("html", "html", "<b>$T</b>", "<strong>$T</strong>", 2, """
        <!DOCTYPE html>
        <html><body>
          <p>Some <b>bold</b> text
          <b>here</b></p>
        </body></html>
    """),
    _sample("java", "java", "System.out.println($A)", "log.info($A)", 2, """
        class Main {
            public static void main(String[] args) {
                System.out.println("a");
                for (String each : args) {
                    System.out.println(each + "!");
                }
            }
        }
    """),
    _sample("javascript", "js", "var $A = $B", "let $A = $B", 3, _JAVASCRIPT, "statement"),
    _sample("javascript", "js", "load($$$A)", "fetchAll($$$A)", 5, _JAVASCRIPT, "nested"),
    _sample("javascript", "jsx", "console.log($$$A)", "log({\n  args: [$$$A],\n})", 1, _JAVASCRIPT, "lines"),
    _sample("javascript", "mjs", "$A && $A.length", "$A?.length", 1, _JAVASCRIPT, "twice"),
    _sample("json", "json", '[$$$A]', '[0, $$$A]', 1, """
        {
          "name": "x",
          "version": "1.0.0",
          "nested": {"list": [1, null, true]}
        }
    """),
    _sample("kotlin", "kt", "println($A)", "logger.info($A)", 2, """
        fun main(args: Array<String>) {
            println("a")
            args.forEach { println(it) }
        }
    """),
    _sample("lua", "lua", "print($$$A)", "log.info($$$A)", 2, """
        local function go(name)
          print("a", name)
          return function() print(name) end
        end
    """),
    _sample("markdown", "md", "- one", "- first\n", 1, """
        # Title

        Some *text* and `code`.

        - one
        - two
    """),
    _sample("nix", "nix", "with $P; $B", "let p = $P; in $B", 1, """
        { pkgs ? import <nixpkgs> {} }:
        with pkgs; [ hello git ]
    """),
    _sample("php", "php", "strlen($A)", "mb_strlen($A)", 2, """
        <?php
        function go($name) {
            if (strlen($name) > 3) {
                echo strlen("x");
            }
        }
    """),
    _sample("python", "py", "fetch($A, $B)", "get($B, $A)", 4, _PYTHON, "swapped"),
    _sample("python", "pyi", "fetch($$$ARGS)", "with_retry(\n    fetch,\n    $$$ARGS\n)", 4, _PYTHON, "lines"),
    _sample("python", "py", "if $C:\n    $$$BODY", "while $C:\n    $$$BODY", 1, _PYTHON, "block"),
    _sample("python", "py", "def $F($$$P): $$$B", "async def $F($$$P): $$$B", 2, _PYTHON, "function"),
    _sample("python", "py", '"b"', "'c'", 1, _PYTHON, "string"),
    _sample("python", "py", "class $N: $$$B", "@final\nclass $N:\n    x = 1\n    $$$B", 1, _PYTHON, "class"),
    _sample("python", "py", "$A.path", "$A.where", 0, _PYTHON, "nothing"),
    _sample("ruby", "rb", "puts $A", "logger.info $A", 2, """
        class Hello
          def say(name)
            puts "hello"
            puts name unless name.nil?
          end
        end
    """),
    _sample("rust", "rs", "$A.unwrap()", "$A.expect(\"present\")", 2, """
        fn main() {
            let x: Option<i32> = Some(1);
            let y = x.unwrap() + "2".parse::<i32>().unwrap();
            println!("{}", y);
        }
    """),
    _sample("scala", "scala", "println($A)", "logger.info($A)", 1, """
        object Main extends App {
          val name = "x"
          println(s"hello $name")
        }
    """),
    _sample("solidity", "sol", "uint256 $N;", "uint128 $N;", 1, """
        pragma solidity ^0.8.0;
        contract Box {
            uint256 value;
            function set(uint256 v) public {
                require(v > 0);
                value = v;
            }
        }
    """),
    _sample("swift", "swift", "print($A)", "log($A)", 2, """
        func go(name: String) {
            print(name)
            if name.isEmpty { print("empty") }
        }
    """),
    _sample("tsx", "tsx", "<Box size={$S} />", "<Panel width={$S} />", 1, """
        export const View = ({ n }: { n: number }) => (
          <div>
            <Box size={n} />
            <Box />
          </div>
        );
    """),
    _sample("typescript", "ts", "multiply($A, $B)", "times($B, $A)", 2, _TYPESCRIPT, "call"),
    _sample("typescript", "mts", "$X as $T", "<$T>$X", 1, _TYPESCRIPT, "cast"),
    _sample("yaml", "yml", "image: $I", "container: $I", 2, """
        services:
          web:
            image: nginx:1
          db:
            image: "postgres"  # why
            ports: [1, 2]
    """),
    _sample("zig", "zig", "print($A)", "log($A)", 1, """
        const std = @import("std");
        pub fn main() void {
            print("a");
        }
    """),
)  # fmt: skip
