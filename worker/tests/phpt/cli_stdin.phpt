--TEST--
cli: a script from standard input; a missing script; -l
--FILE--
<?php echo 1;
--CLI--
- x; {PHP} cli none.php; echo; {PHP} cli -l test.php | head -1
--STDIN--
<?php echo 'in ', $argv[1], "\n";
--EXPECT--
in x

No syntax errors detected in test.php
