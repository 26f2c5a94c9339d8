<?php

abstract class A
{
    abstract public function f();
}
final class B extends A
{
}
echo 'never';
