<?php

function leave(): never
{
    exit('left from a function');
}
leave();
