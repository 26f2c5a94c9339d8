<?php

echo 'before ';
try {
    include __DIR__ . '/parse.php';
} catch (ParseError $error) {
    echo $error->getMessage(), ' in line ', $error->getLine();
}
