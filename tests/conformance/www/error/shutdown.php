<?php

register_shutdown_function(function () {
    echo 'in shutdown ';
    undefined_function();
});
echo 'main ';
