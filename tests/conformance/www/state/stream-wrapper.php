<?php

echo in_array('left', stream_get_wrappers(), true) ? 'left' : 'clean';
final class Left
{
}
stream_wrapper_register('left', Left::class);
