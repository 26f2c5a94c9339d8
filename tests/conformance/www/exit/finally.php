<?php

try {
    exit('exit ');
} finally {
    echo 'finally runs not';
}
