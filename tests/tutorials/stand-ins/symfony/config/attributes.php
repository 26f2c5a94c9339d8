<?php

// Symfony 5.4 has the attribute elsewhere.
if (!class_exists(Symfony\Component\Routing\Attribute\Route::class)) {
    class_alias(Symfony\Component\Routing\Annotation\Route::class, Symfony\Component\Routing\Attribute\Route::class);
}
